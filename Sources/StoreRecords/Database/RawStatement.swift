package import GRDB
internal import GRDBSQLite
package import StoreFormat

/// A GRDB statement that is stepped by hand: it copies values between SQLite and a log byte for byte, without a Swift
/// value in between.
///
/// GRDB's observations do not see changes that are made this way; the caller reports them with
/// `Database.notifyChanges(in:)`.
package struct RawStatement {
    let handle: OpaquePointer
    private let owner: Statement
    private unowned let db: Database
    private let fault = Fault()

    /// The error of a binding, such as a value above SQLite's limit; the next step throws it.
    private final class Fault {
        var code = SQLITE_OK
    }

    /// Prepares a statement.
    ///
    /// - Parameters:
    ///   - sql: the statement.
    ///   - db: the connection.
    ///   - isCached: whether GRDB's cache keeps the statement for as long as the connection lasts.
    /// - Throws: GRDB's error if SQLite rejects the statement.
    package init(_ sql: String, _ db: Database, isCached: Bool = true) throws {
        owner = isCached ? try db.cachedStatement(sql: sql) : try db.makeStatement(sql: sql)
        handle = owner.sqliteStatement
        self.db = db
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    /// Makes one step; returns whether there is a row.
    package func step() throws -> Bool {
        guard fault.code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: fault.code), sql: owner.sql) }
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let code = ResultCode(rawValue: sqlite3_extended_errcode(db.sqliteConnection))
            let message = String(cString: sqlite3_errmsg(db.sqliteConnection))
            sqlite3_reset(handle)
            throw DatabaseError(resultCode: code, message: message, sql: owner.sql)
        }
    }

    /// Runs the statement to its end and resets it.
    package func run() throws {
        while try step() {}
        sqlite3_reset(handle)
    }

    package func reset() { sqlite3_reset(handle) }

    package func bind(_ index: Int, _ value: Int64) { sqlite3_bind_int64(handle, Int32(index), value) }

    /// Binds a value.
    ///
    /// SQLite copies text and blobs.
    package func bind(_ index: Int, _ value: RecordValue) {
        let place = Int32(index)
        var bound = SQLITE_OK
        switch value {
        case .null: sqlite3_bind_null(handle, place)
        case .integer(let integer): sqlite3_bind_int64(handle, place, integer)
        case .real(let bits): sqlite3_bind_double(handle, place, Double(bitPattern: bits))
        case .text(let bytes):
            bound = Self.withBytes(bytes) {
                sqlite3_bind_text64(handle, place, $0.assumingMemoryBound(to: CChar.self), UInt64(bytes.count), Self.transient, UInt8(SQLITE_UTF8))
            }
        case .blob(let bytes):
            bound = Self.withBytes(bytes) { sqlite3_bind_blob64(handle, place, $0, UInt64(bytes.count), Self.transient) }
        }
        if bound != SQLITE_OK { fault.code = bound }
    }

    func bind(_ index: Int, _ value: [UInt8]?) {
        if let value { bind(index, .blob(value[...])) } else { sqlite3_bind_null(handle, Int32(index)) }
    }

    var columnCount: Int { Int(sqlite3_column_count(handle)) }

    package func integer(_ column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }

    func real(_ column: Int) -> Double { sqlite3_column_double(handle, Int32(column)) }

    func isInteger(_ column: Int) -> Bool { sqlite3_column_type(handle, Int32(column)) == SQLITE_INTEGER }

    package func isText(_ column: Int) -> Bool { sqlite3_column_type(handle, Int32(column)) == SQLITE_TEXT }

    func isBlob(_ column: Int) -> Bool { sqlite3_column_type(handle, Int32(column)) == SQLITE_BLOB }

    func isNull(_ column: Int) -> Bool { sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL }

    /// The bytes of a text or blob, valid until the next step.
    package func bytes(_ column: Int) -> UnsafeRawBufferPointer {
        // The pointer comes first: `sqlite3_column_bytes` returns the size after the preceding conversion.
        let place = Int32(column)
        let start =
            sqlite3_column_type(handle, place) == SQLITE_TEXT
            ? UnsafeRawPointer(sqlite3_column_text(handle, place)) : sqlite3_column_blob(handle, place)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, place)))
    }

    /// Returns the size of a text or blob in bytes; 0 for other types.
    package func size(_ column: Int) -> Int {
        let type = sqlite3_column_type(handle, Int32(column))
        return type == SQLITE_TEXT || type == SQLITE_BLOB ? Int(sqlite3_column_bytes(handle, Int32(column))) : 0
    }

    /// Returns a column as text; nil for NULL.
    package func text(_ column: Int) -> String? { isNull(column) ? nil : String(decoding: bytes(column), as: UTF8.self) }

    package func value(_ column: Int) -> RecordValue {
        switch sqlite3_column_type(handle, Int32(column)) {
        case SQLITE_INTEGER: .integer(integer(column))
        case SQLITE_FLOAT: .real(sqlite3_column_double(handle, Int32(column)).bitPattern)
        case SQLITE_TEXT: .text(ArraySlice(bytes(column)))
        case SQLITE_BLOB: .blob(ArraySlice(bytes(column)))
        default: .null
        }
    }

    /// Writes a column to a log, unchanged.
    func write(_ column: Int, to writer: inout WireWriter) {
        switch sqlite3_column_type(handle, Int32(column)) {
        case SQLITE_INTEGER: writer.integer(integer(column))
        case SQLITE_FLOAT:
            writer.byte(ValueTag.real)
            writer.little(sqlite3_column_double(handle, Int32(column)).bitPattern)
        case let type where type == SQLITE_TEXT || type == SQLITE_BLOB:
            let bytes = bytes(column)
            writer.byte(type == SQLITE_TEXT ? ValueTag.text : ValueTag.blob)
            writer.varint(UInt64(bytes.count))
            writer.raw(bytes)
        default: writer.byte(ValueTag.null)
        }
    }

    /// SQLite's destructor value for “copy it” (sqlite3.h, SQLITE_TRANSIENT), a cast that Swift does not import.
    private static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    /// Calls a body with an address, also for empty bytes: SQLite treats a null pointer as NULL.
    private static func withBytes<Result>(_ bytes: ArraySlice<UInt8>, _ body: (UnsafeRawPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { buffer in
            if let start = buffer.baseAddress, !buffer.isEmpty { return body(start) }
            return withUnsafeBytes(of: UInt8(0)) { body($0.baseAddress!) }
        }
    }
}
