"""Time series: GPS and UTC times, time selections, gaps, flags and trends."""
