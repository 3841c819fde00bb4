"""Published benchmarks, reproduced by ``icecore bench NAME``.

Each study is a module with the function ``run`` and an entry point of the group ``icecore.studies`` in
``bench/pyproject.toml``.
"""
