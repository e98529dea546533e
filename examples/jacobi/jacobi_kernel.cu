/* The step of the example: a block takes rows, its threads their points. The
 * edges of the plate at the left and at the right stay as they are. */
extern "C" __global__ void jacobi_step(double *to, const double *from, int rows,
                                       int columns)
{
    for (int row = 1 + blockIdx.x; row <= rows; row += gridDim.x) {
        for (int column = 1 + threadIdx.x; column < columns - 1;
             column += blockDim.x) {
            int at = row * columns + column;

            to[at] = 0.25 * (from[at - columns] + from[at + columns] +
                             from[at - 1] + from[at + 1]);
        }
    }
}
