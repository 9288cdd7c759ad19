/// The purpose of a store file.
package enum StoreFilePlace: String, Sendable {
    /// An account's records.
    case store
    /// Saves for an account whose content has not been read yet.
    case fallback
    /// Saves that are made while nobody is signed in.
    case local
}
