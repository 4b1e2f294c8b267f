#!/bin/sh
# SPDX-License-Identifier: MIT
#
# layers.sh - what may include, link and call what.
#
# Looks at the sources and at what was built from them (BUILD, default build). A
# rule that is broken here costs more than a warning: the agent is trusted with
# nothing because it links no cryptography, and the signer can be reasoned about
# because it does no I/O.
#
# Prints `ok` or `not ok` for each rule, for tests/run.sh.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
failed=0

# check NAME OFFENDERS: ok when there are none.
check()
{
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "not ok $1"
		echo "$2" | sed 's/^/    /'
		failed=$((failed + 1))
	fi
}

for file in sigring-agent sigring-enclave sigring-local sigring-signer libsigring.a libsigring.so.0; do
	if [ ! -e "$BUILD/$file" ]; then
		echo "not ok $BUILD/$file is not there: run make first"
		exit 1
	fi
done

# ---- includes ----

# quoted FROM... -- TO...: quoted includes of FROM's files that lie in none of TO.
quoted()
{
	from=
	while [ "$1" != -- ]; do
		from="$from $1"
		shift
	done
	shift
	for directory in $from; do
		for file in "$directory"/*.c "$directory"/*.h; do
			[ -e "$file" ] || continue
			sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\([^"]*\)".*/\1/p' "$file" |
				while read -r header; do
					found=
					for to in "$@"; do
						[ -e "$to/$header" ] && found=yes
					done
					[ "$found" ] || echo "$file includes $header"
				done
		done
	done
}

# system NAME-PATTERN FILE...: files that include <such a header>.
system()
{
	pattern=$1
	shift
	grep -lE "^[ 	]*#[ 	]*include[ 	]*<$pattern" "$@" 2>/dev/null
}

check "ring/core includes only itself" "$(quoted ring/core -- ring/core)"
check "ring/session includes only core" "$(quoted ring/session -- ring/core ring/session)"
check "ring/order includes only session and core" \
	"$(quoted ring/order -- ring/core ring/session ring/order)"
check "ring/client includes only order, session and core" \
	"$(quoted ring/client -- ring/core ring/session ring/order ring/client)"
check "ring/line includes only order, session and core" \
	"$(quoted ring/line -- ring/core ring/session ring/order ring/line)"
check "signer includes only order, session and core" \
	"$(quoted signer -- ring/core ring/session ring/order signer)"
check "host_agent includes only core" "$(quoted host_agent -- ring/core host_agent)"
check "sigring-replay includes sigring.h, ring/line and nothing else of the ring" \
	"$(sed -n 's/^#include "\([^"]*\)".*/\1/p' bench/sigring_replay.c bench/sr_replay*.[ch] |
		while read -r header; do
			[ -e "bench/$header" ] || [ -e "ring/line/$header" ] ||
				[ "$header" = sigring.h ] || echo "$header"
		done)"
# What converts orders and renders them is behind sr_desk.h; what signs without a ring is
# the signer's, behind sr_offline.h.
check "of sigring-replay no file includes typed orders, and sr_offline alone the signer" \
	"$(quoted bench -- bench ring/line ring/client ring/core |
		grep -E '^bench/(sigring_replay|sr_(replay[a-z_]*|verify|histogram|offline))\.' |
		while read -r file _ header; do
			case $file in
			bench/sr_offline.c)
				[ -e "signer/$header" ] || [ "$header" = sr_keyfile.h ] ||
					echo "$file includes $header" ;;
			*)
				[ "$header" = sr_type.h ] || echo "$file includes $header" ;;
			esac
		done)"
check "host_agent includes no cryptography" \
	"$(system '(secp256k1|openssl/|sodium|gcrypt|jansson)' host_agent/*.[ch])"
check "of ring only session includes cryptography, and only OpenSSL's" \
	"$(system '(secp256k1|openssl/|sodium|gcrypt|jansson)' ring/core/*.[ch] ring/order/*.[ch] ring/client/*.[ch]
	system '(secp256k1|openssl/|sodium|gcrypt)' ring/line/*.[ch]
	system '(secp256k1|sodium|gcrypt|jansson)' ring/session/*.[ch])"

sources="ring/*/*.[ch] signer/*.[ch] host_agent/*.[ch] enclave_shim/*.[ch]"
check "only signer/sr_curve.c includes secp256k1.h" \
	"$(system secp256k1 $sources | grep -v '^signer/sr_curve.c$')"
check "signer/sr_curve.c does include secp256k1.h" \
	"$([ "$(system secp256k1 signer/sr_curve.c)" ] || echo "the rule above checks nothing")"
check "only host_agent/sr_stream_uring.c includes liburing.h" \
	"$(system liburing $sources | grep -v '^host_agent/sr_stream_uring.c$')"
check "only what reads or makes attestation documents includes cbor.h" \
	"$(system cbor $sources | grep -v -e '^ring/session/sr_cose.c$' -e '^enclave_shim/sr_mock_nsm.c$')"
check "only ring/core/sr_numa.c includes numa.h" \
	"$(system numa $sources | grep -v '^ring/core/sr_numa.c$')"

# ---- what is linked ----

needed()
{
	readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

crypto='libcrypto|libssl|libsecp256k1|libsodium|libgcrypt'
check "sigring-agent needs no cryptographic library" \
	"$(needed "$BUILD/sigring-agent" | grep -E "$crypto")"
check "sigring-tune needs none either" "$(needed "$BUILD/sigring-tune" | grep -E "$crypto")"
check "ldd of sigring-agent shows none either" \
	"$(ldd "$BUILD/sigring-agent" 2>&1 | grep -E "$crypto|not found|not a dynamic")"
check "sigring-agent defines no symbol of one" \
	"$(nm --defined-only "$BUILD/sigring-agent" 2>/dev/null |
		grep -iE ' (secp256k1_|EVP_|SHA256_|AES_|sr_(ecdsa|bip340|curve|keyring|secret|core|aead|noise|seal)_)')"
check "libsigring.so needs libcrypto, libcbor and libnuma, and no other" \
	"$(needed "$BUILD/libsigring.so.0" | grep -vE '^(libcrypto|libcbor|libnuma|libc|libpthread|ld-linux)[-.]')"
# What has to be left out of an enclave: every symbol of these files, whatever its name.
banned=$(nm --defined-only "$BUILD"/signer/sr_core_clear.o "$BUILD"/enclave_shim/sr_mock_nsm.o \
	"$BUILD"/enclave_shim/sr_keyfile.o "$BUILD"/enclave_shim/sr_ground_host.o 2>/dev/null |
	awk 'NF == 3 && $2 ~ /[A-Z]/ { print $3 }' | sort -u)
inside()
{
	nm --defined-only "$1" 2>/dev/null | awk 'NF == 3 { print $3 }' | grep -xF "$banned"
}
check "sigring-enclave has no session in clear, no mock and no key file in it, and no libcbor" \
	"$(inside "$BUILD/sigring-enclave"
	needed "$BUILD/sigring-enclave" | grep cbor)"
check "sigring-signer has all of these" \
	"$([ "$(inside "$BUILD/sigring-signer" | sort -u)" = "$banned" ] ||
		echo "the rule above checks nothing")"
check "sigring-enclave does need libsecp256k1" \
	"$(needed "$BUILD/sigring-enclave" | grep -q libsecp256k1 ||
		echo "the rules above check nothing")"

# ---- what the signer calls ----

# Everything that its objects leave open and that is not in this tree's own pure
# layers: memory, the protected kind included, and the two libraries. A name that
# is not in the list may do I/O, read a clock or start a thread, and has to be
# looked at by somebody.
memory='malloc|calloc|free|aligned_alloc|mem(cpy|set|cmp|move|chr)|str(chr|cmp|ncmp|n?len)|v?snprintf'
pages='mmap|munmap|mprotect|m(un)?lock|madvise|sysconf|__errno_location'
libraries='secp256k1_[a-z0-9_]+|SHA256_(Init|Update|Final)|EVP_(RAND|PKEY|MD_CTX)_[A-Za-z_]+|EVP_Digest(Sign|Verify)?(Init)?|ERR_(set_mark|pop_to_mark)|OSSL_PARAM_construct_[a-z0-9_]+'
compiler='__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__cpu_(model|indicator_init)|__(memcpy|memset)_chk'

defined=$(nm -g --defined-only "$BUILD"/signer/*.o "$BUILD"/ring/core/*.o \
	"$BUILD"/ring/session/*.o "$BUILD"/ring/order/*.o 2>/dev/null |
	awk 'NF == 3 { print $3 }' | sort -u)
open=$(nm -u "$BUILD"/signer/*.o 2>/dev/null | awk '$1 == "U" { print $2 }' | sort -u)
check "the signer's objects were looked at" \
	"$(echo "$open" | grep -q '^secp256k1_' || echo "no object of signer/ in $BUILD")"
check "the signer calls memory, libsecp256k1 and OpenSSL's ciphers, and does no I/O" \
	"$(echo "$open" | grep -vxE "$memory|$pages|$libraries|$compiler" |
		grep -vxF "$defined")"
check "and of ring/ only what names things, cuts frames and lays out records" \
	"$(echo "$open" | grep -E '^sr_' | grep -xF "$(nm -g --defined-only \
		"$BUILD"/ring/core/*.o | awk 'NF == 3 { print $3 }')" |
		grep -vE '^sr_(frame|hello|open|opened|status_name|reason_set)')"

# ---- what libsigring exports ----

exported=$(nm -D --defined-only "$BUILD/libsigring.so.0" |
	awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
listed=$(sed -n '/global:/,/local:/s/^[ \t]*\([a-z0-9_]*\);.*/\1/p' ring/client/libsigring.map |
	sort)
check "libsigring.so exports exactly what its map lists" \
	"$(echo "$listed" | grep -vxF "$exported" | sed 's/$/ is not exported/'
	echo "$exported" | grep -vxF "$listed" | sed 's/$/ is not in the map/')"

# Of the public headers: what is declared by them and what is inline in sigring.h.
inline=$(sed -n 's/^SR_INLINE .*[ *]\(sr_[a-z0-9_]*\)(.*/\1/p' ring/client/sigring.h)
check "each inline function of sigring.h is exported too" \
	"$(if [ -z "$inline" ]; then echo "none was found in sigring.h"; fi
	for name in $inline; do
		echo "$exported" | grep -qx "$name" || echo "$name"
	done)"
public=$(${CC:-cc} -std=c11 -MM -Iring/core -Iring/session -Iring/order -Iring/client \
	ring/client/sigring.h ring/client/sigring_order.h | tr ' \\' '\n\n' | grep '\.h$' | sort -u)
declared=$(for header in $public; do
	sed -n '/^SR_BEGIN_DECLS/,/^SR_END_DECLS/p' "$header" | grep -v '^static' |
		sed -n 's/^[a-zA-Z].*[ *]\(sr_[a-z0-9_]*\)(.*/\1/p'
done | sort -u)
check "each function that a public header declares is exported" \
	"$(for name in $declared; do
		echo "$exported" | grep -qx "$name" || echo "$name"
	done)"
check "and each exported function is declared by a public header" \
	"$(for name in $exported; do
		grep -qE "[ *]$name\(" $public || echo "$name"
	done)"
check "nothing that is installed believes an emulated security module" \
	"$(for file in "$BUILD"/sigring-* "$BUILD"/sigringctl "$BUILD"/libsigring.*; do
		case $file in *.d) continue ;; esac
		! grep -qa __wrap_sr_attest_document "$file" || echo "$file"
	done)"
check "and what does would be seen" \
	"$(grep -qa __wrap_sr_attest_document "$BUILD/emulated/sigringctl" || echo "emulated/sigringctl")"
check "soname is libsigring.so.0" \
	"$(readelf -d "$BUILD/libsigring.so.0" | grep -q 'SONAME.*\[libsigring\.so\.0\]' ||
		echo "it is not")"

[ "$failed" -eq 0 ]
