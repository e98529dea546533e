/* Loaded under the name libcuda.so.1, and as a plug-in; does nothing. */
extern const int mgds_empty_library;
const int mgds_empty_library = 1;
