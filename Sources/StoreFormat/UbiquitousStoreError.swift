public import SystemPackage

/// An error of a store, its schema or its content.
///
/// The message names the path and the remedy; it never contains the content of a record.
public struct UbiquitousStoreError: Error, CustomStringConvertible, Sendable {
    /// The kind of failure, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's stable name.
        public let description: String

        /// The schema breaks rules of syncing, or a migration makes a forbidden change; the message lists every
        /// violation.
        public static let invalidSchema = Code(description: "invalidSchema")
        /// The store file is not an SQLite database, or is damaged.
        public static let notADatabase = Code(description: "notADatabase")
        /// The store file or the content was written by a newer version of this package.
        public static let newerFormat = Code(description: "newerFormat")
        /// The store has been through migrations that this version of the app does not have.
        public static let newerSchema = Code(description: "newerSchema")
        /// The named store, container, content or entry does not exist.
        public static let notFound = Code(description: "notFound")
        /// A file could not be read, written or created.
        public static let fileSystem = Code(description: "fileSystem")
        /// A log, receipt or mark has wrong content.
        public static let malformed = Code(description: "malformed")
        /// The store file belongs to another account, container or content.
        public static let foreignStore = Code(description: "foreignStore")
        /// The request is not possible with this store, for the reason in the message.
        public static let unsupported = Code(description: "unsupported")
        /// The container or the store's content is gone; the store works locally.
        public static let suspended = Code(description: "suspended")
        /// The exchange of the store has been paused; the store works locally.
        public static let paused = Code(description: "paused")
        /// The content lacks logs that the store holds, so the store cannot be rebuilt from it.
        public static let contentIncomplete = Code(description: "contentIncomplete")
        /// The store has been opened for reading only.
        public static let readOnly = Code(description: "readOnly")
        /// Changes after a token are no longer kept; read all records once, and continue with the current token.
        public static let tokenExpired = Code(description: "tokenExpired")
        /// A token of changes belongs to another store file; read all records once, and continue with the current token.
        public static let foreignToken = Code(description: "foreignToken")
        /// A public place cannot be read, or what it says is of no use.
        public static let unreachable = Code(description: "unreachable")
        /// A deadline passed; the message says what the operation waited for.
        public static let timedOut = Code(description: "timedOut")
        /// SQLite refused a statement.
        public static let database = Code(description: "database")
    }

    /// The kind of failure.
    public let code: Code
    /// The failure, its path, and the remedy.
    public let message: String
    /// The file or directory that the error is about.
    public let path: FilePath?
    /// The underlying error, such as an `Errno` or GRDB's `DatabaseError`.
    public let cause: (any Error)?

    package init(_ code: Code, _ message: String, path: FilePath? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.cause = cause
    }

    /// The message, followed by the cause.
    public var description: String {
        guard let cause else { return message }
        return "\(message) (\(cause))"
    }
}

extension UbiquitousStoreError {
    /// Returns the error of a write or an exchange in a store that is open for reading only.
    package static func readOnly(_ file: FilePath) -> UbiquitousStoreError {
        UbiquitousStoreError(.readOnly, "\(file) is open for reading only; sign in to its account and open the store to write to it.", path: file)
    }
}
