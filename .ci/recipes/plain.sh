#!/bin/sh
# Any CI with Node 20.19 or later. SVC_URL, SVC_KEY_ID and SVC_KEY_SECRET come from its secrets.
# Exit code: 0 nothing new is wrong, 1 something is, 2 wrong usage, 3 the server cannot be used.
set -eu
npx --yes svc-conformance@0.1.0 run --report text --report junit=conformance/junit.xml
