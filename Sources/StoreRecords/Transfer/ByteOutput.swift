internal import SystemPackage

/// Writes bytes to a descriptor by large pieces.
struct ByteOutput {
    private static let pieceSize = 1 << 18

    let descriptor: FileDescriptor
    private var pending: [UInt8] = []

    init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    /// Writes what the body appends, now or later.
    mutating func write(_ body: (inout [UInt8]) throws -> Void) throws {
        try body(&pending)
        if pending.count >= Self.pieceSize { try flush() }
    }

    /// Writes what has not been written yet.
    mutating func flush() throws {
        try descriptor.writeAll(pending)
        pending.removeAll(keepingCapacity: true)
    }
}
