"""Standard input for programs under test: input that never comes and never
ends. At the end of its input mpiexec (Hydra) tells its proxy so, and dies of it
(SIGPIPE) if a short job is over by then: one run in fifty on a busy machine."""

import os

NO_INPUT, _KEPT_OPEN = os.pipe()
