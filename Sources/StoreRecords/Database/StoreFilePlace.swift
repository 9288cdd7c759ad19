/// What a store file is for.
package enum StoreFilePlace: String, Sendable {
    /// An account's records.
    case store
    /// What is saved for an account whose content has not been read yet.
    case fallback
    /// What is saved while nobody is signed in.
    case local
}
