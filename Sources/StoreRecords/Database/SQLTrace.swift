internal import GRDB
internal import SystemPackage
internal import UbiquityContainers

/// Writes the statements that run to the log; see `UbiquityLog.tracesSQL`.
enum SQLTrace {
    /// Makes the connections of a file trace their statements, if tracing is on.
    ///
    /// - Parameters:
    ///   - configuration: the configuration of the connections.
    ///   - file: the file.
    ///   - begins: called before each statement of a connection too, because a connection can have only one trace.
    static func install(in configuration: inout Configuration, of file: FilePath, beginning begins: @escaping @Sendable (Database) -> Void = { _ in })
    {
        guard StatementLog.isOn else { return }
        let name = file.lastComponent?.string ?? ""
        configuration.prepareDatabase { db in
            db.trace { [unowned db] event in
                guard case .statement(let statement) = event else { return }
                begins(db)
                let text = StatementLog.showsContents ? onOneLine(statement.expandedSQL) : withoutLiterals(statement.sql)
                StatementLog.write("\(name): SQL: \(text)")
            }
        }
    }

    /// Returns a statement with `?` instead of each text, blob and number.
    ///
    /// Comments, names and parameters stay.
    ///
    /// See sqlite.org/lang_expr.html#literal_values_constants_.
    static func withoutLiterals(_ sql: String) -> String { rewritten(sql, hidesLiterals: true) }

    /// Returns a statement unchanged, except for line breaks between its words.
    static func onOneLine(_ sql: String) -> String { rewritten(sql, hidesLiterals: false) }

    private static func rewritten(_ sql: String, hidesLiterals: Bool) -> String {
        var result = ""
        var rest = Substring(sql)
        while let first = rest.first {
            let token = token(of: rest)
            rest = rest.dropFirst(token.count)
            switch first {
            case "'", "0"..."9": result += hidesLiterals ? "?" : token
            case _ where first.isWhitespace: result += " "
            default: result += token
            }
        }
        return result
    }

    /// Returns the first token of a text.
    private static func token(of text: Substring) -> Substring {
        let first = text.first!
        func isWord(_ character: Character) -> Bool { character.isLetter || character.isNumber || "_$".contains(character) }
        switch first {
        case "'", "\"", "`": return quoted(text, by: first)
        case "[": return text.firstIndex(of: "]").map { text[...$0] } ?? text
        case _ where text.hasPrefix("--"): return text.prefix { !$0.isNewline }
        case _ where text.hasPrefix("/*"): return comment(text)
        case _ where first.isWhitespace: return text.prefix { $0.isWhitespace }
        case "?", ":", "@", "$": return text.prefix(1 + text.dropFirst().prefix(while: isWord).count)
        case "0"..."9": return text.prefix { isWord($0) || $0 == "." }
        case _ where isWord(first): return text.prefix(while: isWord)
        default: return text.prefix(1)
        }
    }

    /// Returns the text between two quotes.
    ///
    /// Inside, a quote is doubled.
    private static func quoted(_ text: Substring, by quote: Character) -> Substring {
        var index = text.index(after: text.startIndex)
        while index < text.endIndex {
            let next = text.index(after: index)
            guard text[index] == quote else {
                index = next
                continue
            }
            guard next < text.endIndex, text[next] == quote else { return text[..<next] }
            index = text.index(after: next)
        }
        return text
    }

    private static func comment(_ text: Substring) -> Substring {
        var rest = text.dropFirst(2)
        while !rest.isEmpty, !rest.hasPrefix("*/") { rest = rest.dropFirst() }
        return text[..<rest.dropFirst(2).startIndex]
    }
}
