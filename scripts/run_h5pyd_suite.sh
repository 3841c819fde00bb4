#!/bin/sh
# Runs h5pyd's own test suite against a service: scripts/run_h5pyd_suite.sh ENDPOINT CHECKOUT
#
# CHECKOUT is a clone of https://github.com/HDFGroup/h5pyd, branch `h5json` for h5pyd 1.0 or `master` for 0.24, and the Python on the path has
# that h5pyd, h5py and pytest installed. The service needs a directory of its own and the users of the suite:
#
#   mkdir -p suite/home/test_user1
#   icecore serve --add-user test_user1 --users users   # password: test
#   icecore serve --add-user test_user2 --users users   # password: test
#   icecore serve --add-user admin --users users        # password: admin
#   icecore serve suite --writable --users users
#
# `test_file_read` reads `tall.h5` of the HDF5 tutorials: give its path as TALL, or the test fails. It wants a domain that is 30 s old.
# With h5pyd 1.0.0, 0.24.0 and HSDS 1.0.2 the failures that are left are the client's: HSDS has all of them too.
set -eu
export HS_ENDPOINT="${1:?ENDPOINT}" HS_USERNAME=test_user1 HS_PASSWORD=test TEST2_USERNAME=test_user2 TEST2_PASSWORD=test
export ADMIN_USERNAME=admin ADMIN_PASSWORD=admin H5PYD_TEST_FOLDER=/home/test_user1/h5pyd_test/
hstouch /home/test_user1/h5pyd_test/
if [ -n "${TALL:-}" ]; then
    hstouch /home/test_user1/test/
    hsload "$TALL" /home/test_user1/test/tall.h5
    sleep 30
fi
cd "${2:?CHECKOUT}/test/hl"
# One process a file: the tests share module names and a cache of connections.
failed=0
for file in test_*.py; do
    python -m pytest -q -p no:cacheprovider --tb=line "$file" || failed=$((failed + 1))
done
echo "$failed files with failures"
[ "$failed" = 0 ]
