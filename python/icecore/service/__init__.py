"""What ``icecore serve`` leaves to Python: tables, and what higher rooms register.

The HTTP server is native. It calls a :class:`icecore.service.delegate.Delegate` for what only Python can do.
"""
