# The steps of Tools/package, which reads this file: a tree for each package, and the package of the tree.
# shellcheck shell=bash

architecture=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-The Ubiquity authors} <${DEBEMAIL:-ubiquity@packages.invalid}>"

# Puts a program into the tree of a package, without symbols and without a path of the machine that built it.
put_program() {
    local program=$1 tree=$2 target=$2/usr/bin/$1
    install -D -m 755 "$built/$program" "$target"
    strip "$target"
    patchelf --remove-rpath "$target"
    if [ -n "$trial" ] && [ -n "$(runtime "$built/$program")" ]; then patchelf --set-rpath /usr/lib/ubiquity "$target"; fi
}

# Puts the runtime libraries of the packaged programs into a tree; for trials.
put_runtime() {
    local tree=$1 library
    for library in $(for program in "${programs[@]}" "${helpers[@]}" notes; do
        [ ! -x "$built/$program" ] || runtime "$built/$program"
    done | sort -u); do
        install -D -m 644 "$library" "$tree/usr/lib/ubiquity/$(basename "$library")"
        strip --strip-unneeded "$tree/usr/lib/ubiquity/$(basename "$library")"
        patchelf --set-rpath /usr/lib/ubiquity "$tree/usr/lib/ubiquity/$(basename "$library")"
    done
}

put_completions() {
    local program=$1 tree=$2 shell file
    for shell in bash:usr/share/bash-completion/completions/$program zsh:usr/share/zsh/vendor-completions/_$program \
        fish:usr/share/fish/vendor_completions.d/$program.fish; do
        file=$tree/${shell#*:}
        mkdir -p "$(dirname "$file")"
        # A completion is read by a shell, and is no program.
        "$built/$program" --generate-completion-script "${shell%%:*}" | sed '1{/^#!/d}' >"$file"
        [ -s "$file" ] || fail 1 "$built/$program prints no completion script for ${shell%%:*}."
    done
}

# Puts the units of Tools/systemd into a tree: their programs with paths, and without the comments on an installation by hand.
put_units() {
    local tree=$1 unit target bare
    for unit in "$here"/Tools/systemd/*.*; do
        target=$tree/usr/lib/systemd/user/$(basename "$unit")
        install -D -m 644 "$unit" "$target"
        sed -i -E -e 's#^(Exec[A-Za-z]*=[-@:+!|]*)(ub[a-z]+)#\1/usr/bin/\2#' -e "/^#.*(Tools\/systemd|systemd's own directories)/d" "$target"
        bare=$(grep -E '^Exec[A-Za-z]*=[-@:+!|]*[^-@:+!|/]' "$target" || true)
        [ -z "$bare" ] || fail 1 "$unit names a program that is not in the package: $bare"
    done
}

# Puts the changelog, the copyright and the texts of a package into its tree.
put_documents() {
    local name=$1 tree=$2 documents=$2/usr/share/doc/$1 changelog=changelog
    # A version with a revision is that of a package that was made from released sources; see deb-version(7).
    [[ $version != *-* ]] || changelog=changelog.Debian
    mkdir -p "$documents"
    printf '%s (%s) unstable; urgency=medium\n\n  * Version %s. The history of its sources is in their repository.\n\n -- %s  %s\n' \
        ubiquity "$version" "${version%%-*}" "$maintainer" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" >"$documents/$changelog"
    gzip -9n "$documents/$changelog"
    install -m 644 "$packaging/$name.copyright" "$documents/copyright"
    [ ! -f "$packaging/$name.README.Debian" ] || install -m 644 "$packaging/$name.README.Debian" "$documents/README.Debian"
    [ ! -f "$packaging/$name.lintian-overrides" ] ||
        install -D -m 644 "$packaging/$name.lintian-overrides" "$tree/usr/share/lintian/overrides/$name"
}

# Puts the notices of the parts into a tree, as the Apache licence demands.
put_notices() {
    local file=$1/usr/share/doc/ubiquity/NOTICES notice
    [ -d "$checkouts" ] || return 0
    for notice in "$checkouts"/*/NOTICE.txt; do
        [ ! -f "$notice" ] || printf '%s\n\n%s\n\n' "$(basename "$(dirname "$notice")")" "$(cat "$notice")" >>"$file"
    done
    [ ! -f "$file" ] || gzip -9n "$file"
}

# The packages that the programs and libraries of a tree need, as dpkg-shlibdeps(1) writes them.
dependencies() {
    local name=$1 tree=$2 files=() file
    mkdir -p "$work/$name.shlibdeps/debian"
    printf 'Source: ubiquity\n\nPackage: %s\nArchitecture: any\n' "$name" >"$work/$name.shlibdeps/debian/control"
    while IFS= read -r file; do files+=("-e$file"); done < <(find "$tree/usr/bin" "$tree/usr/lib/ubiquity" -type f 2>/dev/null | sort)
    # Libraries of the runtime are in the package itself, and have no entry with dpkg.
    (cd "$work/$name.shlibdeps" && dpkg-shlibdeps -O ${trial:+--ignore-missing-info "-l$work/ubiquity/usr/lib/ubiquity"} "${files[@]}") \
        2>"$work/$name.shlibdeps/log" | sed -n 's/^shlibs:Depends=//p' >"$work/$name.shlibdeps/depends"
    [ -s "$work/$name.shlibdeps/depends" ] || { cat "$work/$name.shlibdeps/log" >&2 && fail 1 "dpkg-shlibdeps finds no dependency of $name."; }
    cat "$work/$name.shlibdeps/depends"
}

# Prints a file with values in the places of @NAME@; they may hold any character.
fill() {
    local text
    text=$(cat "$1")
    shift
    while [ $# -gt 0 ]; do
        text=${text//"@$1@"/"$2"}
        shift 2
    done
    printf '%s\n' "$text"
}

# Makes the package of a tree, whose files then have one time.
make_package() {
    local name=$1 tree=$2 depends size compression=(-Zxz -z9) file=$output/$1_${version#*:}_$architecture.deb
    depends=$(dependencies "$name" "$tree")
    # In KiB, whatever the file system takes: each file rounded up, and one for each directory and link; see deb-substvars(5).
    size=$(find "$tree" -type f -printf '%s\n' -o -printf '1\n' | awk '{ size += int(($1 + 1023) / 1024) } END { print size }')
    mkdir -p "$tree/DEBIAN"
    fill "$packaging/$name.control" VERSION "$version" ARCHITECTURE "$architecture" DEPENDS "$depends" SIZE "$size" MAINTAINER "$maintainer" \
        >"$tree/DEBIAN/control"
    if [ -n "$trial" ]; then echo " .
 This is a trial of the packaging, with programs of a test build. It is not for
 users." >>"$tree/DEBIAN/control"; fi
    (cd "$tree" && find usr -type f | sort | xargs -d '\n' md5sum >DEBIAN/md5sums)
    find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    # One thread, so that the bytes do not depend on the processors. A trial is read once, by a test.
    [ -z "$trial" ] || compression=(-Zgzip -z1)
    dpkg-deb --root-owner-group --threads-max=1 "${compression[@]}" --build "$tree" "$file" >"$work/$name.log" 2>&1 ||
        { cat "$work/$name.log" >&2 && fail 1 "dpkg-deb could not make $file."; }
    echo "$file"
}

make_ubiquity() {
    local tree=$work/ubiquity program
    [ -z "$trial" ] || put_runtime "$tree"
    UBIQUITY_BIN=$built "$here/Tools/manual" "$work/manual" "${programs[@]}" >/dev/null
    for program in "${programs[@]}"; do
        put_program "$program" "$tree"
        put_completions "$program" "$tree"
        install -D -m 644 "$work/manual/$program.1" "$tree/usr/share/man/man1/$program.1"
        gzip -9n "$tree/usr/share/man/man1/$program.1"
    done
    put_units "$tree"
    put_documents ubiquity "$tree"
    put_notices "$tree"
    make_package ubiquity "$tree"
}

# The helper is a package of its own for its licence: with libinotifytools it is GPL-2.0-only.
make_inotifytools_source() {
    local tree=$work/inotifytools-source
    put_program inotifytools-source "$tree"
    install -D -m 644 "$packaging/inotifytools-source.1" "$tree/usr/share/man/man1/inotifytools-source.1"
    gzip -9n "$tree/usr/share/man/man1/inotifytools-source.1"
    put_documents inotifytools-source "$tree"
    make_package inotifytools-source "$tree"
}
