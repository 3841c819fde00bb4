"""Descriptions of parameters that several products share."""

from icecore.products.signature import Field

TABLE = Field("Path of a table in each source, or a pattern of several (gt*/heights); default: the only one.")
COLUMNS = Field("Columns, in this order; default: all.")
POLY = Field("Area: a GeoJSON file or geometry, or points of one ring as {lon, lat} or [lon, lat].")
BOX = Field(
    "Area: west,south,east,north; west > east crosses the antimeridian.", unit="degrees", low=-360, high=360
)
T0 = Field("Start of the time span, as 2018-10-14T00:00:00.")
T1 = Field("End of the time span, not included.")
WHERE = Field("A where-clause: h_ph > 100 and quality_ph = 0.")
TIME = Field(
    "Column of times; default: the first with a time dtype or units such as seconds since 2018-01-01."
)
XY = Field("Columns of longitude and latitude; default: found by name.")
