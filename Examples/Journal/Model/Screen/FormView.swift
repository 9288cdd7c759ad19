/// Draws a ``PostForm``.
enum FormView {
    static func lines(_ form: PostForm, size: ScreenSize) -> [String] {
        let notice = form.isRemoved ? ["This post is no longer here; a save writes a new one."] : []
        let single = notice + field(.title, form, size.columns)
        let last = field(.tags, form, size.columns)
        // The text has the room that is left, around its cursor.
        let body = field(.body, form, size.columns)
        let room = max(1, size.rows - single.count - last.count)
        let cursor = body.firstIndex { $0.contains("▏") } ?? 0
        let first = max(0, min(cursor - room / 2, body.count - room))
        return single + body[first..<min(body.count, first + room)] + last
    }

    private static func field(_ field: PostContents.Field, _ form: PostForm, _ columns: Int) -> [String] {
        let hasFocus = form.focus == field
        let text = hasFocus ? JournalView.text(form[field]) : form[field].text
        var lines = TerminalText.wrapped("\(hasFocus ? ">" : " ") \(field.rawValue): \(text)", to: columns)
        if form.changedElsewhere.contains(field) {
            lines.append(TerminalText.clipped("  ! another device wrote: \(value(of: field, in: form.base))", to: columns))
        }
        return lines
    }

    private static func value(of field: PostContents.Field, in contents: PostContents) -> String {
        switch field {
        case .title: contents.title
        case .body: contents.body.split(whereSeparator: \.isNewline).joined(separator: " ")
        case .tags: contents.tags.joined(separator: ", ")
        case .position: ""
        }
    }
}
