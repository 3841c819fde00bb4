"""Commands for versions, maintenance and copies of repositories."""
