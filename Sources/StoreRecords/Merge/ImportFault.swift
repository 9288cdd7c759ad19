package import GRDB
internal import StoreFormat

/// The cause of an error of SQLite.
///
/// ``GRDB/DatabaseError/fault`` creates it where SQLite has been called, and is the only code that reads result codes
/// (sqlite.org/rescode.html). All other code switches over it: a log or record that breaks a rule is listed, an attempt
/// blocked by another connection is repeated, and a full disk says nothing about either.
package enum ImportFault: Error, Hashable, Sendable {
    /// The content: this schema does not take it, and the next attempt would fail too.
    case content(Content)
    /// Another connection, which has locked the file. A later attempt may succeed.
    case connection
    /// The disk.
    case disk(Disk)
    /// The process lacks memory.
    case memory
    /// The access: the file cannot be opened or written as requested.
    case access(Access)
    /// The file, which is not a complete SQLite database.
    case file
    /// Malformed data of a virtual table of the app.
    ///
    /// It says nothing about the file (sqlite.org/rescode.html#corrupt_vtab).
    case virtualTable
    /// The statement was interrupted.
    case interruption
    /// The caller.
    case program

    /// The rule that the content breaks.
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
        /// An index on an expression, or a trigger, fails with its own error, such as `json_extract()` of invalid JSON.
        case expression
    }

    /// The reason why the disk fails.
    package enum Disk: Hashable, Sendable {
        /// No space is left.
        case space
        /// The operating system reports an error.
        case operation
    }

    /// The access that a connection lacks.
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
    /// Whether the content is at fault, and not the file, the disk or another connection.
    package var isContent: Bool {
        if case .content = self { true } else { false }
    }

    /// Whether the file cannot be opened or written as requested.
    package var isAccess: Bool {
        if case .access = self { true } else { false }
    }

    /// Whether data of the database is damaged: the file, or data of a virtual table in it.
    package var isDamage: Bool { self == .file || self == .virtualTable }

    /// Returns the reason why this store cannot hold content from elsewhere, if the error gives one.
    ///
    /// - Parameter error: the error of joining the content.
    /// - Returns: the reason, in words; nil if the content is not at fault.
    package static func refusal(_ error: any Error) -> String? {
        switch error {
        case let fault as LogFault: fault.description
        case let error as DatabaseError where error.fault.isContent: "this store's schema refuses it: \(error.message ?? "a constraint fails")"
        default: nil
        }
    }
}

extension DatabaseError {
    /// The cause of the error.
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
        // The pattern also matches every code that extends this one.
        case .SQLITE_READONLY: return .access(extendedResultCode == .SQLITE_READONLY ? .readOnly : .writing)
        case .SQLITE_NOTADB, .SQLITE_CORRUPT: return .file
        case .SQLITE_INTERRUPT, .SQLITE_ABORT: return .interruption
        default: return .program
        }
    }
}
