package import GRDB
internal import StoreFormat

/// Whose fault it is that SQLite has not done what it was asked.
///
/// ``GRDB/DatabaseError/fault`` makes it, where SQLite has been called, and is the only place that reads result codes (sqlite.org/rescode.html).
/// Everything else switches over it: what a log or a record breaks is listed, what another connection holds up is tried again, and a full disk
/// says nothing of either.
package enum ImportFault: Error, Hashable, Sendable {
    /// The content's: this schema does not take what was to be written, and the next attempt ends alike.
    case content(Content)
    /// Another connection's, which has the file locked; a later attempt may succeed.
    case connection
    /// The disk's.
    case disk(Disk)
    /// The process lacks memory.
    case memory
    /// The file cannot be opened, or may not be written, as it was asked.
    case access(Access)
    /// The file is no SQLite database, or no whole one.
    case file
    /// What a virtual table of the app keeps is malformed; that says nothing of the file (sqlite.org/rescode.html#corrupt_vtab).
    case virtualTable
    /// The statement was interrupted.
    case interruption
    /// The caller's own.
    case program

    /// What of the content the schema does not take.
    package enum Content: Hashable, Sendable {
        /// Another row has values that have to be unique.
        case unique
        /// Another row has the key.
        case key
        /// A column that needs a value has none.
        case absence
        /// Another constraint, a trigger's among them.
        case constraint
        /// A value has a type that the column does not hold.
        case type
        /// A value, or a row, is too large.
        case size
        /// An index on an expression, or a trigger, fails with an error of its own, such as `json_extract()` of what is no JSON.
        case expression
    }

    /// What the disk fails at.
    package enum Disk: Hashable, Sendable {
        /// No space is left.
        case space
        /// The operating system reports an error.
        case operation
    }

    /// What a connection may not do.
    package enum Access: Hashable, Sendable {
        /// The file cannot be opened.
        case opening
        /// A permission is missing.
        case permission
        /// The connection only reads.
        case readOnly
        /// The file or its directory cannot be written, though the connection may write.
        case writing
    }
}

extension ImportFault {
    /// Whether it is about what was to be written, and not about the file, the disk or another connection.
    package var isContent: Bool {
        if case .content = self { true } else { false }
    }

    /// Whether the file cannot be opened or written as it was asked.
    package var isAccess: Bool {
        if case .access = self { true } else { false }
    }

    /// Whether what a database holds is damaged: the file, or what a virtual table keeps in it.
    package var isDamage: Bool { self == .file || self == .virtualTable }

    /// Why this store cannot hold what comes from elsewhere, where that is what an error says.
    ///
    /// - Parameter error: what was thrown while it was joined.
    /// - Returns: the reason, in words; nil for an error that is not the content's.
    package static func refusal(_ error: any Error) -> String? {
        switch error {
        case let fault as LogFault: fault.description
        case let error as DatabaseError where error.fault.isContent: "this store's schema refuses it: \(error.message ?? "a constraint fails")"
        default: nil
        }
    }
}

extension DatabaseError {
    /// Whose fault it is.
    package var fault: ImportFault {
        switch extendedResultCode {
        case .SQLITE_CONSTRAINT_UNIQUE: return .content(.unique)
        case .SQLITE_CONSTRAINT_PRIMARYKEY, .SQLITE_CONSTRAINT_ROWID: return .content(.key)
        case .SQLITE_CONSTRAINT_NOTNULL: return .content(.absence)
        case .SQLITE_CORRUPT_VTAB: return .virtualTable
        default: break
        }
        switch resultCode {
        case .SQLITE_CONSTRAINT: return .content(.constraint)
        case .SQLITE_MISMATCH: return .content(.type)
        case .SQLITE_TOOBIG: return .content(.size)
        case .SQLITE_ERROR: return .content(.expression)
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL: return .connection
        case .SQLITE_FULL: return .disk(.space)
        case .SQLITE_IOERR: return .disk(.operation)
        case .SQLITE_NOMEM: return .memory
        case .SQLITE_CANTOPEN: return .access(.opening)
        case .SQLITE_PERM, .SQLITE_AUTH: return .access(.permission)
        // A pattern takes every code that extends it.
        case .SQLITE_READONLY: return .access(extendedResultCode == .SQLITE_READONLY ? .readOnly : .writing)
        case .SQLITE_NOTADB, .SQLITE_CORRUPT: return .file
        case .SQLITE_INTERRUPT, .SQLITE_ABORT: return .interruption
        default: return .program
        }
    }
}
