internal import SystemPackage

/// Writes bytes to a descriptor in large pieces.
struct ByteOutput {
    private static let pieceSize = 1 << 18

    let descriptor: FileDescriptor
    private var pending: [UInt8] = []

    init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    /// Takes the bytes that the body appends, and writes them once a piece is full.
    mutating func write(_ body: (inout [UInt8]) throws -> Void) throws {
        try body(&pending)
        if pending.count >= Self.pieceSize { try flush() }
    }

    /// Writes the pending bytes.
    mutating func flush() throws {
        try descriptor.writeAll(pending)
        pending.removeAll(keepingCapacity: true)
    }
}
