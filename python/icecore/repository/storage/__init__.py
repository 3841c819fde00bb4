"""Where a repository is stored: options, logins and the native object."""
