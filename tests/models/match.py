#!/usr/bin/env python3
"""Matching ahead of time, against MPI's own rule, on small programs.

A receiver, two senders and a member that sends nothing. The orders of the sends
of each sender and of the receives are fixed. All else may come in any order:
envelopes (RTS) arrive, streams reach sends, receives are called, SUBSCRIBE
arrives. A send and a receive are matched when they are mutually first
(shim/gds/match/match.h), a receive from any source only with a send of which
the receiver knows that its stream has reached it.

Late subscription: the first receive from any source subscribes at the senders
of which an envelope has come or that have a connection, and at each other
sender when its first envelope comes. A sender announces what its streams reach from then on, and, when it
learns of the subscription, what they have reached before.

For each program, over all orders:
  1. without receives from any source there is one outcome;
  2. each outcome is one that an MPI library could give that posts a send when
     its stream reaches it;
  3. at the end no send and receive that accept each other are unmatched;
  4. nobody is subscribed at who has sent nothing and has no connection.

Rules that are wrong must be found to be: a receive from any source that takes a
send though an earlier one of that source suits it (breaks 2), a sender that
announces nothing from before the subscription (breaks 3), and a receiver that
answers no envelope by a subscription (breaks 3).
"""
import argparse
import itertools
import sys

ANY = None
TAGS = (0, 1)
RECEIVES = [(source, tag) for source in (0, 1, ANY) for tag in (0, 1, ANY)]
SHAPES = ((2, 1, 2), (1, 1, 3), (2, 1, 3), (2, 2, 2))  # sends, sends, receives
MEMBERS = 3
NONE, UNDER_WAY, KNOWN = range(3)  # a subscription at a member
CONNECTED = ((), (0,))  # members
STEP = 17


class Program:
    """Sends of either source in order, receives in order, and the members that
    have a connection before."""

    def __init__(self, sends, receives, connected):
        self.sends, self.receives = sends, receives
        self.connected = connected
        self.of = [[i for i, send in enumerate(sends) if send[0] == member]
                   for member in range(MEMBERS)]
        self.wild = [receive[0] is ANY for receive in receives]

    def suits(self, receive, send):
        return all(want is ANY or want == has for want, has in
                   zip(self.receives[receive], self.sends[send]))

    def is_first(self, send, receive, matched):
        """No earlier send of that source, come or not, suits the receive."""
        return not any(matched[other] is None and self.suits(receive, other)
                       for other in self.of[self.sends[send][0]]
                       if other < send)


class Rule:
    """The rule as it is, or one that is wrong."""

    def __init__(self, any_order=False, late_is_lost=False, no_answer=False):
        self.any_order, self.late_is_lost = any_order, late_is_lost
        self.no_answer = no_answer


def receive_for(program, rule, send, told, called, matched):
    """What the send is to be matched with now, or None."""
    for receive in range(called):
        if receive in matched or not program.suits(receive, send):
            continue
        wild = program.wild[receive]
        if wild and send not in told:
            return None
        if program.is_first(send, receive, matched) or (
                wild and rule.any_order):
            return receive
        return None
    return None


def settle(program, rule, arrived, told, called, matched):
    """The sends' receives, when nothing more can be matched."""
    moved = True
    while moved:
        moved = False
        for member, sends in enumerate(program.of):
            for send in sends[:arrived[member]]:
                if matched[send] is not None:
                    continue
                receive = receive_for(program, rule, send, told, called,
                                      matched)
                if receive is not None:
                    matched = matched[:send] + (receive,) + matched[send + 1:]
                    moved = True
    return matched


def changed(values, at, value):
    return values[:at] + (value,) + values[at + 1:]


def subscribe(program, arrived, called, subscribed):
    """Once a receive from any source is called: at all that have sent, or have
    a connection."""
    if not any(program.wild[:called]):
        return subscribed
    return tuple(UNDER_WAY if state == NONE and (
        arrived[member] or member in program.connected) else state
                 for member, state in enumerate(subscribed))


def successors(program, rule, state):
    """A state: envelopes that have come, by member; sends that streams have
    reached; those that were announced; receives called; subscriptions; the
    sends' receives. What is announced comes at once: later is as if the stream
    had been later."""
    arrived, reached, told, called, subscribed, matched = state
    for member, sends in enumerate(program.of):
        if arrived[member] < len(sends):
            yield (changed(arrived, member, arrived[member] + 1), reached,
                   told, called, subscribed, matched)
        if subscribed[member] == UNDER_WAY:
            before = frozenset() if rule.late_is_lost else (
                reached & frozenset(sends))
            yield (arrived, reached, told | before, called,
                   changed(subscribed, member, KNOWN), matched)
    for send in set(range(len(program.sends))) - reached:
        known = subscribed[program.sends[send][0]] == KNOWN
        yield (arrived, reached | {send}, told | {send} if known else told,
               called, subscribed, matched)
    if called < len(program.receives):
        yield arrived, reached, told, called + 1, subscribed, matched


def closed(program, rule, state, calls):
    """What the receiver does at once; calls: behind the call of a receive."""
    arrived, reached, told, called, subscribed, matched = state
    if calls or not rule.no_answer:
        subscribed = subscribe(program, arrived, called, subscribed)
    return (arrived, reached, told, called, subscribed,
            settle(program, rule, arrived, told, called, matched))


def outcomes(program, rule):
    """Over all orders: how sends are matched, and what is subscribed, at the
    end."""
    begin = ((0,) * MEMBERS, frozenset(), frozenset(), 0, (NONE,) * MEMBERS,
             (None,) * len(program.sends))
    seen, stack, ends = {begin}, [begin], set()
    while stack:
        state = stack.pop()
        last = True
        for follower in successors(program, rule, state):
            last = False
            follower = closed(program, rule, follower,
                              follower[3] > state[3])
            if follower not in seen:
                seen.add(follower)
                stack.append(follower)
        if last:
            ends.add((state[5], state[4]))
    return ends


def posted_choices(program, unexpected, receive):
    """The earliest of each source, for it may choose between sources."""
    first = {}
    for send in unexpected:
        if program.suits(receive, send):
            first.setdefault(program.sends[send][0], send)
    return list(first.values())


def reference_steps(program, state):
    """MPI's own: a send is posted, or a receive, and meets what is there."""
    at, posted, unexpected, matched = state
    for member, sends in enumerate(program.of):
        if at[member] == len(sends):
            continue
        send, ahead = sends[at[member]], changed(at, member, at[member] + 1)
        receive = next((r for r in posted if program.suits(r, send)), None)
        if receive is None:
            yield ahead, posted, unexpected + (send,), matched
        else:
            yield (ahead, tuple(r for r in posted if r != receive), unexpected,
                   changed(matched, send, receive))
    receive = at[MEMBERS]
    if receive == len(program.receives):
        return
    ahead = changed(at, MEMBERS, receive + 1)
    choices = posted_choices(program, unexpected, receive)
    if not choices:
        yield ahead, posted + (receive,), unexpected, matched
    for send in choices:
        yield (ahead, posted, tuple(s for s in unexpected if s != send),
               changed(matched, send, receive))


def legal(program):
    """All outcomes that MPI allows."""
    begin = ((0,) * (MEMBERS + 1), (), (), (None,) * len(program.sends))
    seen, stack, ends = {begin}, [begin], set()
    while stack:
        state = stack.pop()
        followers = list(reference_steps(program, state))
        if not followers:
            ends.add(state[3])
        for follower in followers:
            if follower not in seen:
                seen.add(follower)
                stack.append(follower)
    return ends


def is_complete(program, matched):
    return not any(program.suits(receive, send)
                   for send, has in enumerate(matched) if has is None
                   for receive in range(len(program.receives))
                   if receive not in matched)


def fault(program, rule):
    """What is wrong with the rule, in words, or None."""
    ends, allowed = outcomes(program, rule), legal(program)
    if not any(program.wild) and len(ends) != 1:
        return "the outcome depends on the order"
    for matched, subscribed in ends:
        if not is_complete(program, matched):
            return f"something is left over: {matched}"
        if matched not in allowed:
            return f"MPI does not allow {matched}"
        if any(state != NONE and not program.of[member]
               and member not in program.connected
               for member, state in enumerate(subscribed)):
            return "who has sent nothing is subscribed at"
    return None


def programs(step):
    """Each step-th one."""
    drawn = 0
    for first, second, receives in SHAPES:
        for tags in itertools.product(TAGS, repeat=first + second):
            sends = [(0, tag) for tag in tags[:first]]
            sends += [(1, tag) for tag in tags[first:]]
            for wanted, connected in itertools.product(
                    itertools.product(RECEIVES, repeat=receives), CONNECTED):
                drawn += 1
                if drawn % step == 0:
                    yield Program(sends, wanted, connected)


def describe(program):
    return f"sends {program.sends}, receives {program.receives}"


def holds(step):
    count = 0
    for program in programs(step):
        wrong = fault(program, Rule())
        count += 1
        if wrong:
            print(f"match.py: {wrong}: {describe(program)}")
            return False
    print(f"match.py: {count} programs, none wrong")
    return count > 0


def is_found_wrong(name, rule, words):
    for program in programs(1):
        wrong = fault(program, rule)
        if wrong:
            print(f"match.py: {name}: {wrong}: {describe(program)}")
            return words in wrong
    print(f"match.py: {name}: not found to be wrong")
    return False


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--step", type=int, default=STEP, metavar="N",
                        help="each N-th program; 1: all, some minutes")
    return parser.parse_args()


def main():
    step = parse_arguments().step
    good = holds(step)
    good &= is_found_wrong("any order", Rule(any_order=True),
                           "does not allow")
    good &= is_found_wrong("late is lost", Rule(late_is_lost=True),
                           "left over")
    good &= is_found_wrong("no answer", Rule(no_answer=True), "left over")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
