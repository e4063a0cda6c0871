"""Encoder-decoder Transformers for translation, in backend-neutral Keras 3.

`sizes` imports neither Keras nor TensorFlow, so that counting parameters and
planning a sweep never wait for them; import the other modules by name.
"""
