/// Cuts a file into pieces where its content says so, so that an edit changes the pieces around it and no others, also if it
/// moves all bytes behind it.
///
/// A rolling hash of the last 64 bytes decides (a "gear" hash, as in FastCDC, Xia and others, 2016). Pieces have from 2 to
/// 16 MiB; a smaller file is one piece.
package struct ContentChunker {
    package static let smallest = 2 << 20
    package static let largest = 16 << 20
    /// A cut each 4 MiB behind the smallest piece, on average.
    private static let mask: UInt64 = ((1 << 22) - 1) << 42
    /// How many bytes the hash depends on.
    private static let window = 64

    private static let gear: [UInt64] = {
        // Any fixed numbers do; SplitMix64 gives well mixed ones.
        var state: UInt64 = 0x5562_6971_7569_7479
        return (0..<256).map { _ in
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }()

    private var length = 0
    private var hash: UInt64 = 0

    package init() {}

    /// Returns how many of the bytes belong to the present piece.
    ///
    /// - Parameter bytes: the bytes that follow those of the calls before.
    /// - Returns: the number of bytes before the cut; nil if there is none in these bytes. After a cut the next piece begins.
    package mutating func cut(_ bytes: UnsafeRawBufferPointer) -> Int? {
        Self.gear.withUnsafeBufferPointer { gear in
            // No cut comes before the smallest length, and the hash forgets what is before its window.
            var index = min(bytes.count, max(0, Self.smallest - Self.window - length))
            let most = min(bytes.count, Self.largest - length)
            var hash = hash
            while index < most {
                hash = (hash << 1) &+ gear[Int(bytes[index])]
                index += 1
                if hash & Self.mask == 0, length + index >= Self.smallest {
                    (self.hash, length) = (0, 0)
                    return index
                }
            }
            if length + most >= Self.largest {
                (self.hash, length) = (0, 0)
                return most
            }
            self.hash = hash
            length += bytes.count
            return nil
        }
    }
}
