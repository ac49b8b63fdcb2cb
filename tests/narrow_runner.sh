# find_narrow_runner FOLDER UNFIT: whether this machine runs 32-bit programs; some kernels refuse all of them. There
# qemu-i386 does, and NARROW_RUNNER, from which the tests read its name, and narrow_machine are set. Nothing is left out
# but the cases UNFIT. Says which way is taken; status 1: there is none.
# shellcheck shell=bash disable=SC2034
find_narrow_runner() {
    local program=$1/narrow answer emulated
    printf 'int main(void) { return 0; }\n' | gcc -m32 -x c - -o "$program" || return 0  # the build will say why
    if answer=$("$program" 2>&1); then
        echo "== 32-bit programs: run by this kernel"
        return 0
    fi
    if ! emulated=$(qemu-i386 "$program" 2>&1); then
        echo "== 32-bit programs: this kernel refuses them (${answer:-they die}), and qemu-i386 does not run them" \
            "(${emulated:-they die})"
        return 1
    fi
    narrow_machine=--cross-file=deploy/cross-32.ini
    export NARROW_RUNNER=qemu-i386
    echo "== 32-bit programs: this kernel refuses them (${answer:-they die}); $NARROW_RUNNER runs them, all but $2"
}
