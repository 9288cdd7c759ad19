/// The checksum of a zip file's entries: ISO 3309, polynomial 0x04C11DB7, reflected.
struct CRC32 {
    private var remainder: UInt32 = 0xFFFF_FFFF

    var value: UInt32 { ~remainder }

    /// Adds bytes to the checksum, eight at a time ("slicing by 8").
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var crc = remainder
        Self.tables.withUnsafeBufferPointer { tables in
            var index = 0
            while index + 8 <= bytes.count {
                let low = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self)) ^ crc
                let high = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index + 4, as: UInt32.self))
                crc = 0
                for byte in 0..<4 {
                    let shift = UInt32(8 * byte)
                    crc ^= tables[(7 - byte) * 256 + Int((low >> shift) & 0xFF)]
                    crc ^= tables[(3 - byte) * 256 + Int((high >> shift) & 0xFF)]
                }
                index += 8
            }
            while index < bytes.count {
                crc = tables[Int((crc ^ UInt32(bytes[index])) & 0xFF)] ^ (crc >> 8)
                index += 1
            }
        }
        remainder = crc
    }

    /// For each byte its effect on the remainder, followed by the effect of a byte with 1 to 7 bytes after it.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        for byte in 0..<UInt32(256) {
            var crc = byte
            for _ in 0..<8 { crc = crc & 1 == 1 ? 0xEDB8_8320 ^ (crc >> 1) : crc >> 1 }
            tables.append(crc)
        }
        for index in 256..<2048 {
            let before = tables[index - 256]
            tables.append(tables[Int(before & 0xFF)] ^ (before >> 8))
        }
        return tables
    }()
}
