"""Products on demand: rows computed from sources by a function with typed, documented parameters.

:func:`icecore.run` runs one by name. :class:`Field` and :class:`Inputs` are what a product of your own needs.
"""

from icecore.products.inputs import Inputs
from icecore.products.rows import Rows
from icecore.products.signature import Field

__all__ = ["Field", "Inputs", "Rows"]
