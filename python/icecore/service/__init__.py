"""Python part of ``icecore serve``: rows of tables, and answers registered by other packages.

The HTTP server is native. It calls a :class:`icecore.service.delegate.Delegate` for requests that need
Python.
"""
