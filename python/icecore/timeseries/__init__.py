"""Time on the axis: GPS and UTC, stretches, gaps, trends."""
