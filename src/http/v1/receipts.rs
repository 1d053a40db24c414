//! `GET /v1/receipts/key`

use axum::Json;
use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::pkcs8::EncodePublicKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::ErrorBody;
use crate::http::AppState;
use crate::http::error::ApiError;
use crate::service::ExecuteError;

/// The key that receipts are verified with.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReceiptKey {
    #[schema(example = "ed25519")]
    algorithm: &'static str,
    /// 32 bytes in base64, as in receipts.
    public_key: String,
    /// Same key as SubjectPublicKeyInfo in PEM, for openssl and the like.
    pem: String,
}

/// The public key of this service's receipts.
#[utoipa::path(
    get,
    path = "/v1/receipts/key",
    responses(
        (status = 200, description = "The key", body = ReceiptKey),
        (status = 503, description = "There is no key", body = ErrorBody),
    )
)]
pub(crate) async fn key(State(shared): State<AppState>) -> Result<Json<ReceiptKey>, ApiError> {
    let key = shared.service.receipts.key().await.map_err(ExecuteError::from)?.verifying_key();
    Ok(Json(ReceiptKey {
        algorithm: "ed25519",
        public_key: BASE64.encode(key.as_bytes()),
        pem: key.to_public_key_pem(LineEnding::LF).expect("an Ed25519 key has a form in SPKI"),
    }))
}
