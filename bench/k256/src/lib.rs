// SPDX-License-Identifier: MIT
//! The seed's loop, for C: SHA-256 of a message and ECDSA with an RFC 6979 nonce, by
//! one call of `SigningKey::try_sign`, which is `sign` without its panic.
//! `bench/sr_sign_rig.h` is the other side.

use core::{ffi::c_char, ptr, slice};
use k256::ecdsa::{signature::Signer, Signature, SigningKey};

/// The version of k256 that was built in, as a C string that is never freed.
#[no_mangle]
pub extern "C" fn sr_k256_version() -> *const c_char {
    concat!(env!("SR_K256_VERSION"), "\0").as_ptr().cast()
}

/// A key out of 32 big-endian bytes, or NULL when they are none.
///
/// # Safety
/// `seckey` points to 32 readable bytes.
#[no_mangle]
pub unsafe extern "C" fn sr_k256_new(seckey: *const u8) -> *mut SigningKey {
    match SigningKey::from_slice(slice::from_raw_parts(seckey, 32)) {
        Ok(key) => Box::into_raw(Box::new(key)),
        Err(_) => ptr::null_mut(),
    }
}

/// Writes r || s. Returns 0, or -5 (EIO) when there is no signature.
///
/// # Safety
/// `key` is from `sr_k256_new`; `sig` points to 64 writable bytes, `message` to `bytes`
/// readable ones.
#[no_mangle]
pub unsafe extern "C" fn sr_k256_sign(
    key: *const SigningKey,
    sig: *mut u8,
    message: *const u8,
    bytes: usize,
) -> i32 {
    let made: Result<Signature, _> = (*key).try_sign(slice::from_raw_parts(message, bytes));
    match made {
        Ok(signature) => {
            ptr::copy_nonoverlapping(signature.to_bytes().as_ptr(), sig, 64);
            0
        }
        Err(_) => -5,
    }
}

/// Wipes (k256 does) and frees.
///
/// # Safety
/// `key` is from `sr_k256_new`, and is not used again.
#[no_mangle]
pub unsafe extern "C" fn sr_k256_delete(key: *mut SigningKey) {
    drop(Box::from_raw(key));
}
