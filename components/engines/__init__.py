"""How Beam, TensorFlow and its devices start, stop and lose a machine."""
