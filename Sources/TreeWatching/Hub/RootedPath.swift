/// The absolute path of something at or below a root, ended by a zero byte for system calls; its memory is used again from path to path.
struct RootedPath {
    private(set) var text: [CChar] = []
    private let root: [UInt8]

    init(root: [UInt8]) { self.root = root }

    /// Makes it the path of what lies at `relative`, or of an entry `name` of that; of the root itself where both are empty.
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
