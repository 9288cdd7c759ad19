/// Which of a store's files has been read.
struct KeyValueFile: Sendable, Equatable {
    /// The account; empty for the local file.
    var account: String
    /// Whether the content of the account's other devices is not in it yet.
    var isFallback = false
}

/// The file whose values are shown, and what that means for the next one that is read: from files to reasons.
struct ShownKeyValueFile: Sendable, Equatable {
    private(set) var file: KeyValueFile?
    /// Whether the initial sync of the account has been told, or was over at the first look.
    private(set) var isInitialSyncTold = false

    /// Reports that a file has been read.
    ///
    /// - Returns: why values may have changed; nil for the first file.
    mutating func read(_ new: KeyValueFile) -> KeyValueChange.Reason? {
        defer { file = new }
        guard let old = file else {
            isInitialSyncTold = !new.isFallback
            return nil
        }
        if old.account != new.account {
            // The account's content may have been read between the two looks.
            isInitialSyncTold = false
            return .accountChange
        }
        guard old.isFallback, !new.isFallback else { return .serverChange }
        isInitialSyncTold = true
        return .initialSync
    }

    /// Reports that the content of an account's other devices has been read for the first time, after that file was read.
    ///
    /// - Returns: whether it is still to be told.
    mutating func gathered(_ account: String) -> Bool {
        guard let file, file.account == account, !file.isFallback, !isInitialSyncTold else { return false }
        isInitialSyncTold = true
        return true
    }
}
