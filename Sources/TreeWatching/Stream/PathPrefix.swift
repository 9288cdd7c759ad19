internal import Glibc
package import SystemPackage

/// A directory, to ask of many paths by their bytes whether they lie in it.
///
/// Stores and containers ask that of every change. A `FilePath` of each would cost far more than the question, above all without optimisation.
package struct PathPrefix: Hashable, Sendable {
    /// Without a slash at the end, so that those of the root are none.
    private let bytes: [UInt8]

    /// - Parameter directory: an absolute path.
    package init(_ directory: FilePath) {
        let bytes = directory.withPlatformString { text in Array(UnsafeRawBufferPointer(start: text, count: strlen(text))) }
        self.bytes = bytes == [Self.slash] ? [] : bytes
    }

    /// What follows the directory and its slash in a path.
    ///
    /// - Parameter path: the bytes of an absolute path.
    /// - Returns: the bytes that follow; none for the directory itself, nil for what does not lie in it.
    package func rest(of path: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard path.count >= bytes.count, bytes.withUnsafeBytes({ $0.isEmpty || memcmp($0.baseAddress!, path.baseAddress!, $0.count) == 0 }) else {
            return nil
        }
        if path.count <= max(bytes.count, 1) { return UnsafeRawBufferPointer(rebasing: path[path.count...]) }
        return path[bytes.count] == Self.slash ? UnsafeRawBufferPointer(rebasing: path[(bytes.count + 1)...]) : nil
    }

    /// Whether the directory lies in another one, or is it; takes the bytes of the other one's absolute path.
    package func isBelow(_ path: UnsafeRawBufferPointer) -> Bool {
        guard path.count < bytes.count else { return rest(of: path)?.isEmpty == true }
        guard path.count > 1 else { return path.count == 1 }
        return bytes[path.count] == Self.slash && bytes.withUnsafeBytes { memcmp($0.baseAddress!, path.baseAddress!, path.count) == 0 }
    }

    private static let slash = UInt8(ascii: "/")
}
