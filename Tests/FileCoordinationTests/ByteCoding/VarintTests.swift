import ByteCoding
import Testing

@testable import FileCoordination

/// Numbers as the broker's protocol and the stores' logs write them.
struct VarintTests {
    private func read(_ bytes: [UInt8]) throws(Varint.Fault) -> (value: UInt64, end: Int) {
        // Slices do not begin at 0.
        let slice = ([0xFF, 0xFF] + bytes)[2...]
        var position = slice.startIndex
        return (try Varint(decoding: slice, at: &position).value, position - slice.startIndex)
    }

    @Test("every number comes back from its shortest form, of one to ten bytes")
    func roundTrips() throws {
        var lengths: Set<Int> = []
        for bit in 0..<64 {
            for value in [UInt64(1) << UInt64(bit), (UInt64(1) << UInt64(bit)) - 1, .max >> UInt64(bit)] {
                var bytes: [UInt8] = []
                Varint(value).append(to: &bytes)
                lengths.insert(bytes.count)
                #expect(bytes.count == max(1, (64 - value.leadingZeroBitCount + 6) / 7))
                let found = try read(bytes + [0x01])
                #expect(found.value == value && found.end == bytes.count)
            }
        }
        #expect(lengths == Set(1...10))
    }

    @Test("a longer form than the shortest is read, up to ten bytes", arguments: 1...9)
    func overlong(padding: Int) throws {
        let bytes = [UInt8(0x85)] + [UInt8](repeating: 0x80, count: padding - 1) + [0x00]
        let found = try read(bytes)
        #expect(found.value == 5 && found.end == padding + 1)
    }

    @Test("more than 64 bits are too large, which the tenth byte shows")
    func tooLarge() throws {
        #expect(try read([UInt8](repeating: 0xFF, count: 9) + [0x01]).value == .max)
        for last: UInt8 in [0x02, 0x7F, 0x80, 0x81, 0xFF] {
            #expect(throws: Varint.Fault.tooLarge) { try read([UInt8](repeating: 0xFF, count: 9) + [last, 0x00]) }
            #expect(throws: Varint.Fault.tooLarge) { try read([UInt8](repeating: 0x80, count: 9) + [last, 0x00]) }
        }
    }

    @Test("bytes that end within a number are truncated", arguments: 0...9)
    func truncated(count: Int) {
        #expect(throws: Varint.Fault.truncated) { try read([UInt8](repeating: 0x80, count: count)) }
    }

    @Test("the broker's frames say of it what they always did")
    func frames() throws {
        var reader = WireReader([0x80][...])
        #expect(throws: WireError("the frame ends too early")) { try reader.number() }
        reader = WireReader(([UInt8](repeating: 0xFF, count: 9) + [0x02])[...])
        #expect(throws: WireError("a number has more than 64 bits")) { try reader.number() }
        reader = WireReader([0x80, 0x00, 0x07][...])
        #expect(try reader.number() == 0)
        #expect(try reader.number() == 7)
    }
}
