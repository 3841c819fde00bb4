"""NumPy `.npy` files and `.npz` archives."""
