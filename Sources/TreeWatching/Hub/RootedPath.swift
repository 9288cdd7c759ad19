/// An absolute path at or below a root, with a final zero byte for system calls; it reuses its memory.
struct RootedPath {
    private(set) var text: [CChar] = []
    private let root: [UInt8]

    init(root: [UInt8]) { self.root = root }

    /// Sets the path to `relative`, or to its entry `name`; if both are empty, to the root itself.
    mutating func set(_ relative: [UInt8], _ name: [UInt8] = []) {
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: root.lazy.map { CChar(bitPattern: $0) })
        for part in [relative, name] where !part.isEmpty {
            if text.last != 0x2F { text.append(0x2F) }
            text.append(contentsOf: part.lazy.map { CChar(bitPattern: $0) })
        }
        text.append(0)
    }
}
