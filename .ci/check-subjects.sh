#!/bin/sh
# Fails when the subject of a commit is longer than 72 characters.
#
#     .ci/check-subjects.sh SINCE    all commits after SINCE; only the last one where SINCE is not known
set -eu
since=${1:-}
git cat-file -e "$since^{commit}" 2>/dev/null || since=HEAD~1
git rev-parse --verify --quiet "$since" >/dev/null && range=$since..HEAD || range=HEAD
git log --format=%s "$range" | {
  longest=72
  status=0
  while IFS= read -r subject; do
    [ "${#subject}" -le "$longest" ] && continue
    printf 'Shorten this subject to %s characters, it has %s: %s\n' "$longest" "${#subject}" "$subject"
    status=1
  done
  exit "$status"
}
