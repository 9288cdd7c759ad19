/// Splits the bytes of a CSV file into rows according to RFC 4180; a line may also end with a line feed alone.
struct CSVParser {
    /// The position in a row after the last byte.
    private enum State {
        /// Before the first byte of a field.
        case field
        /// In a field without quotes.
        case plain
        /// In a field with quotes.
        case quoted
        /// After a quote in a quoted field, which either ends the field or is the first of two.
        case quote
        /// After a carriage return, which needs a line feed.
        case carriageReturn
    }

    /// A row, and the number of the line on which it begins.
    struct Row: Equatable {
        var fields: [CSVField] = []
        var line: Int
    }

    /// The number of the current line.
    private(set) var line = 1
    private let limit: Int
    private var state = State.field
    private var row = Row(line: 1)
    private var field = CSVField(bytes: [], isQuoted: false)
    private var size = 0

    /// Creates a parser.
    ///
    /// - Parameter limit: the maximum size of a row in bytes; a longer row throws.
    init(limit: Int) { self.limit = limit }

    /// Takes a byte, and returns the row that it ends; an empty line is not a row.
    mutating func input(_ byte: UInt8) throws(RecordFault) -> Row? {
        size += 1
        guard size <= limit else {
            throw RecordFault("the record is longer than \(limit) bytes: add the missing quote, if one is missing, or allow longer records.")
        }
        defer { if byte == 0x0A { line += 1 } }
        switch (state, byte) {
        case (.quoted, UInt8(ascii: "\"")): state = .quote
        case (.quoted, _): field.bytes.append(byte)
        case (.carriageReturn, 0x0A): return endRow()
        case (.carriageReturn, _): throw RecordFault("a carriage return stands alone: put a field that contains one into quotes.")
        case (.field, UInt8(ascii: "\"")): (state, field.isQuoted) = (.quoted, true)
        case (.quote, UInt8(ascii: "\"")):
            field.bytes.append(byte)
            state = .quoted
        case (_, UInt8(ascii: ",")):
            endField()
        case (_, 0x0A): return endRow()
        case (_, 0x0D): state = .carriageReturn
        case (.plain, UInt8(ascii: "\"")):
            throw RecordFault("a quote stands in a field that begins without one: quote the field, and double its quotes.")
        case (.quote, _): throw RecordFault("text stands behind the quote that ends a field: double the quotes inside the field.")
        case (.field, _), (.plain, _):
            field.bytes.append(byte)
            state = .plain
        }
        return nil
    }

    /// Ends the input, and returns the last row if no line end followed it.
    mutating func end() throws(RecordFault) -> Row? {
        switch state {
        case .quoted:
            throw RecordFault("the file ends within quotes, which began in the record of line \(row.line): it is cut off, or a quote is missing.")
        case .carriageReturn: throw RecordFault("a carriage return stands alone: put a field that contains one into quotes.")
        case .field, .plain, .quote: return endRow()
        }
    }

    private mutating func endField() {
        row.fields.append(field)
        field = CSVField(bytes: [], isQuoted: false)
        state = .field
    }

    private mutating func endRow() -> Row? {
        endField()
        let ended = row
        (row, size) = (Row(line: line + 1), 0)
        return ended.fields == [CSVField(bytes: [], isQuoted: false)] ? nil : ended
    }
}
