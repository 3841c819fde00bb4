"""What ``icecore serve`` leaves to Python: indexes of plain files, tables in other formats, products.

The HTTP server is native. It calls :class:`icecore.service.delegate.Delegate` for what only Python can do.
"""
