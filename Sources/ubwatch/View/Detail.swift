/// The details of one entry: lines to walk through, some of which lead to other details.
struct Detail: Sendable, Equatable {
    struct Line: Sendable, Equatable {
        var pieces: [StyledText]
        var target: Target?

        init(_ pieces: [StyledText], target: Target? = nil) {
            self.pieces = pieces
            self.target = target
        }

        init(_ text: String, _ style: CellStyle = .plain, target: Target? = nil) { self.init([StyledText(text, style)], target: target) }
    }

    /// The subject, from which the details are made again when the facts change; nil if they never change.
    var target: Target?
    var title: String
    var lines: [Line]
    private(set) var place = 0
    private(set) var first = 0
    /// The number of cells scrolled away to the left.
    private(set) var aside = 0

    init(target: Target? = nil, title: String, lines: [Line]) {
        self.target = target
        self.title = title
        self.lines = lines
    }

    mutating func move(by lines: Int) { place = max(0, min(place + lines, self.lines.count - 1)) }

    mutating func moveAside(by cells: Int) { aside = max(0, aside + cells) }

    /// Scrolls just enough to show the selected line in this number of rows.
    mutating func show(rows: Int) {
        let rows = max(1, rows)
        first = min(first, place)
        if place >= first + rows { first = place - rows + 1 }
        first = max(0, min(first, lines.count - rows))
    }

    /// Returns new details with the present selection.
    func renewed(_ new: Detail) -> Detail {
        var new = new
        (new.place, new.first, new.aside) = (min(place, max(0, new.lines.count - 1)), first, aside)
        return new
    }
}
