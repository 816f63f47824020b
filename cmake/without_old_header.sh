#!/bin/sh
# Runs a compiler behind ccache. The compiler would read a precompiled header of an earlier build in place of the headers
# that it is to be made of again, and ccache would return what was once made of others after the same earlier build.
for argument; do
  case $argument in
    *.gch) rm -f "$argument" ;;
  esac
done
exec "$@"
