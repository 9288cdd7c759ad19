internal import Foundation

/// A picture in shades of grey: rows from the top, 0 is black.
struct GreyImage: Equatable {
    let width: Int
    let height: Int
    let pixels: [UInt8]

    /// More pixels would take long to read, for a thumbnail.
    private static let limit = 1 << 26

    init?(width: Int, height: Int, pixels: [UInt8]) {
        guard width > 0, height > 0, width <= Self.limit / height, pixels.count == width * height else { return nil }
        self.width = width
        self.height = height
        self.pixels = pixels
    }

    /// Reads a picture in one of the known formats; nil for other data.
    init?(_ data: Data) {
        guard let image = GreyImage(netpbm: data) ?? GreyImage(bitmap: data) else { return nil }
        self = image
    }

    /// The luma of a colour, by ITU-R BT.601.
    private static func luma(_ red: UInt8, _ green: UInt8, _ blue: UInt8) -> UInt8 {
        let thousandths: Int = 299 * Int(red) + 587 * Int(green) + 114 * Int(blue)
        return UInt8(thousandths / 1000)
    }

    /// Returns the picture with another size; each new pixel is the mean of the pixels that it covers.
    func scaled(width newWidth: Int, height newHeight: Int) -> GreyImage? {
        guard newWidth > 0, newHeight > 0 else { return nil }
        var result: [UInt8] = []
        for row in 0..<newHeight {
            let rows = Self.covered(row, of: newHeight, in: height)
            for column in 0..<newWidth {
                let columns = Self.covered(column, of: newWidth, in: width)
                let sum = rows.reduce(0) { sum, row in columns.reduce(sum) { $0 + Int(pixels[row * width + $1]) } }
                result.append(UInt8(sum / (rows.count * columns.count)))
            }
        }
        return GreyImage(width: newWidth, height: newHeight, pixels: result)
    }

    /// Returns the old places that a new place covers; at least one.
    private static func covered(_ place: Int, of count: Int, in size: Int) -> Range<Int> {
        let start = place * size / count
        return start..<max(start + 1, (place + 1) * size / count)
    }
}

extension GreyImage {
    /// Reads a PGM or PPM file in binary form with at most 256 shades; see pgm(5) and ppm(5).
    init?(netpbm data: Data) {
        var rest = data[...]
        let kind = Self.word(&rest)
        guard ["P5", "P6"].contains(kind), let width = Int(Self.word(&rest)), let height = Int(Self.word(&rest)),
            let greatest = Int(Self.word(&rest)), (1...255).contains(greatest), width > 0, height > 0, width <= Self.limit / height
        else { return nil }
        let depth = kind == "P6" ? 3 : 1
        let bytes = Array(rest.dropFirst().prefix(width * height * depth))
        guard bytes.count == width * height * depth else { return nil }
        let samples = bytes.map { UInt8(min(Int($0), greatest) * 255 / greatest) }
        let pixels = depth == 1 ? samples : stride(from: 0, to: samples.count, by: 3).map { Self.luma(samples[$0], samples[$0 + 1], samples[$0 + 2]) }
        self.init(width: width, height: height, pixels: pixels)
    }

    /// Takes a word off a header, after blanks and comments.
    private static func word(_ rest: inout Data) -> String {
        var isComment = false
        rest = rest.drop { byte in
            if byte == UInt8(ascii: "#") { isComment = true }
            if byte == UInt8(ascii: "\n") { isComment = false }
            return isComment || [0x20, 0x09, 0x0A, 0x0D].contains(byte)
        }
        let word = rest.prefix(16).prefix { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        rest = rest.dropFirst(word.count)
        return String(decoding: word, as: UTF8.self)
    }

    /// Reads a BMP file with 24 or 32 bits a pixel and without compression.
    init?(bitmap data: Data) {
        let bytes = Array(data)
        func number(_ offset: Int, _ count: Int) -> Int {
            bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        guard bytes.count >= 54, bytes.starts(with: "BM".utf8), number(14, 4) >= 40, [24, 32].contains(number(28, 2)), number(30, 4) == 0 else {
            return nil
        }
        let (start, width, depth) = (number(10, 4), number(18, 4), number(28, 2) / 8)
        // A negative height says that the rows begin at the top.
        let signed = Int(Int32(truncatingIfNeeded: number(22, 4)))
        let (height, isFromTop) = (abs(signed), signed < 0)
        guard width > 0, height > 0, width <= Self.limit / height else { return nil }
        // Each row ends at a multiple of four bytes.
        let pitch = (width * depth + 3) / 4 * 4
        guard start + pitch * height <= bytes.count else { return nil }
        var pixels: [UInt8] = []
        for row in 0..<height {
            let line = start + pitch * (isFromTop ? row : height - 1 - row)
            for column in 0..<width {
                let place = line + column * depth
                pixels.append(Self.luma(bytes[place + 2], bytes[place + 1], bytes[place]))
            }
        }
        self.init(width: width, height: height, pixels: pixels)
    }
}
