package import SystemPackage

/// An object in a cloud: a file, as a listing shows it.
package struct StoredObject: Hashable, Sendable {
    /// The path below the listed directory.
    package var path: String
    /// The size in bytes; nil where a back end does not tell it.
    package var size: Int64?

    package init(path: String, size: Int64?) { (self.path, self.size) = (path, size) }
}

/// A place that holds files under paths: a directory, or a cloud behind rclone.
///
/// Nothing is assumed of it beyond these five operations. It need not be atomic, consistent or honest: nothing in it counts
/// until a bulletin names it with its size and hash.
///
/// Paths are relative to the store, with `/` between components. All operations end with `CancellationError` when their task
/// is cancelled, and otherwise throw ``ObjectStoreError``.
package protocol ObjectStore: Sendable {
    /// Returns the objects below a directory, in no order; none if the directory is not there.
    func list(_ directory: String) async throws -> [StoredObject]

    /// Copies a local file to an object, and makes the directories above it.
    ///
    /// An object that is there may be replaced: callers write a path again only with the bytes that it already has, or after an
    /// attempt of their own that did not end.
    ///
    /// - Parameters:
    ///   - file: a local file that nobody changes meanwhile.
    ///   - path: the object.
    ///   - progress: receives how many bytes have been sent, now and then.
    /// - Throws: `ObjectStoreError`, with `notFound` if the local file is gone; `CancellationError`.
    func put(_ file: FilePath, at path: String, progress: @escaping @Sendable (Int64) -> Void) async throws

    /// Copies an object to a new local file.
    ///
    /// - Parameters:
    ///   - path: the object.
    ///   - size: the size that it should have; nil if that is unknown.
    ///   - file: where no file is yet; after an error, a part of it may be there.
    ///   - progress: receives how many bytes have arrived, now and then.
    /// - Throws: `ObjectStoreError`; `CancellationError`.
    func get(_ path: String, size: Int64?, to file: FilePath, progress: @escaping @Sendable (Int64) -> Void) async throws

    /// Removes an object; a missing one is no error.
    func delete(_ path: String) async throws

    /// Returns an object's size; nil if it is not there.
    func stat(_ path: String) async throws -> StoredObject?

    /// Limits the bytes a second of all operations together; nil for no limit.
    func limit(bytesPerSecond: Int64?) async throws

    /// Ends what the store keeps running; it is used no more.
    func close() async
}

extension ObjectStore {
    package func close() async {}

    package func limit(bytesPerSecond: Int64?) async throws {}
}

/// Why an operation of a store failed.
package struct ObjectStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What follows for the transfer.
    package enum Kind: String, Hashable, Sendable, Codable {
        /// The store does not answer; it may later.
        case unreachable
        /// The store did not answer in time.
        case timedOut
        /// The credentials are missing, wrong or expired.
        case authorization
        /// The store has no room for more.
        case quota
        /// There is no such object.
        case notFound
        /// The names in the store cannot be decrypted with this password.
        case wrongPassword
        /// This device has no room for more.
        case diskFull
        /// The program that reaches the store is missing, or must not be used.
        case unusable
        /// Anything else; the operation may succeed later.
        case other
    }

    package var kind: Kind
    /// The reason in words, without any credential.
    package var reason: String

    package init(_ kind: Kind, _ reason: String) { (self.kind, self.reason) = (kind, reason) }

    package var description: String { reason }

    /// Whether the operation concerns the whole store, so that no other can succeed now.
    package var isOfStore: Bool {
        switch kind {
        case .unreachable, .authorization, .wrongPassword, .unusable, .quota, .diskFull: true
        case .timedOut, .notFound, .other: false
        }
    }
}
