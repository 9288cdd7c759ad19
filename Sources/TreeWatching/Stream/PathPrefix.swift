internal import Glibc
package import SystemPackage

/// A directory that tests by their bytes whether paths are in it.
///
/// Stores and containers do this for every change. A `FilePath` for each would cost far more than the test, especially
/// without optimisation.
package struct PathPrefix: Hashable, Sendable {
    /// The path without a final slash, so the root has no bytes.
    private let bytes: [UInt8]

    /// Makes a prefix.
    ///
    /// - Parameter directory: an absolute path.
    package init(_ directory: FilePath) {
        let bytes = directory.withPlatformString { text in Array(UnsafeRawBufferPointer(start: text, count: strlen(text))) }
        self.bytes = bytes == [Self.slash] ? [] : bytes
    }

    /// Returns the part of a path after the directory and its slash.
    ///
    /// - Parameter path: the bytes of an absolute path.
    /// - Returns: the bytes that follow; none for the directory itself, nil if the path is not in the directory.
    package func rest(of path: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard path.count >= bytes.count, bytes.withUnsafeBytes({ $0.isEmpty || memcmp($0.baseAddress!, path.baseAddress!, $0.count) == 0 }) else {
            return nil
        }
        if path.count <= max(bytes.count, 1) { return UnsafeRawBufferPointer(rebasing: path[path.count...]) }
        return path[bytes.count] == Self.slash ? UnsafeRawBufferPointer(rebasing: path[(bytes.count + 1)...]) : nil
    }

    /// Returns whether the directory equals or is below another one, whose absolute path is given in bytes.
    package func isBelow(_ path: UnsafeRawBufferPointer) -> Bool {
        guard path.count < bytes.count else { return rest(of: path)?.isEmpty == true }
        guard path.count > 1 else { return path.count == 1 }
        return bytes[path.count] == Self.slash && bytes.withUnsafeBytes { memcmp($0.baseAddress!, path.baseAddress!, path.count) == 0 }
    }

    private static let slash = UInt8(ascii: "/")
}
