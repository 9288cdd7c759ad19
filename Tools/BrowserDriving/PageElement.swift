internal import Waiting

/// An element of a page.
package struct PageElement: Sendable {
    /// The member that identifies an element in WebDriver.
    fileprivate static let key = "element-6066-11e4-a52e-4f735466cecf"
    fileprivate let page: BrowserPage
    fileprivate let identifier: String

    /// Clicks it, after scrolling to it; throws ``BrowserError`` if another element covers it.
    package func click() async throws { try await page.perform("/element/\(identifier)/click") }

    package func type(_ text: String) async throws { try await page.perform("/element/\(identifier)/value", ["text": .string(text)]) }

    /// Its text, also of parts that are hidden.
    package var text: String { get async throws { try await page.evaluate("return arguments[0].textContent", [Self.key: .string(identifier)]) } }

    /// Returns an attribute; nil if it has none.
    package func attribute(_ name: String) async throws -> String? {
        try await page.evaluate("return arguments[0].getAttribute(arguments[1])", [Self.key: .string(identifier)], .string(name))
    }
}

/// A key that WebDriver names by a character.
package enum PageKey: String, Sendable {
    case tab = "\u{E004}", enter = "\u{E007}", escape = "\u{E00C}", space = " ", down = "\u{E015}", right = "\u{E014}"
}

extension BrowserPage {
    /// Waits for an element that a selector selects.
    ///
    /// - Returns: the first one.
    /// - Throws: `Overdue` if none appears.
    @discardableResult
    package func find(_ css: String, file: String = #fileID, line: Int = #line) async throws -> PageElement {
        let script = "return !!document.querySelector(arguments[0])"
        try await waits(until: "“\(css)” selects an element", script, .string(css), file: file, line: line)
        guard let found = try await element(css) else { throw BrowserError(command: css, code: "no such element", message: "it has gone again") }
        return found
    }

    /// Returns the first element that a selector selects now; nil if there is none.
    package func element(_ css: String) async throws -> PageElement? {
        let found: [String: String]? = try await evaluate("return document.querySelector(arguments[0])", .string(css))
        return found?[PageElement.key].map { PageElement(page: self, identifier: $0) }
    }

    /// Waits until a script returns true.
    ///
    /// - Parameters:
    ///   - what: the condition in words.
    ///   - script: the body of a function.
    ///   - arguments: the values of `arguments`.
    ///   - limit: the limit, in the time of a quiet machine.
    ///   - file: the file of the wait.
    ///   - line: the line of the wait.
    /// - Throws: `Overdue` with the text of the page; ``BrowserError`` if the script throws.
    package func waits(
        until what: String, _ script: String, _ arguments: JSON..., limit: Duration = .seconds(20), file: String = #fileID, line: Int = #line
    ) async throws {
        try await until(what, limit: limit, seen: summary, file: file, line: line) { try await evaluate(script, arguments) }
    }

    /// Waits until the text of an element contains some words.
    package func shows(_ words: String, in css: String = "body", limit: Duration = .seconds(20), file: String = #fileID, line: Int = #line)
        async throws
    {
        let script = "return !!document.querySelector(arguments[0])?.textContent.includes(arguments[1])"
        try await waits(until: "“\(words)” is in \(css)", script, .string(css), .string(words), limit: limit, file: file, line: line)
    }

    /// Clicks an element as soon as it is there and nothing covers it.
    package func click(_ css: String, file: String = #fileID, line: Int = #line) async throws {
        var refusal = "no such element"
        try await until("“\(css)” can be clicked", limit: .seconds(20), seen: { refusal }, file: file, line: line) {
            do {
                guard let element = try await element(css) else { return false }
                try await element.click()
                return true
            } catch let error as BrowserError {
                refusal = error.description
                return false
            }
        }
    }

    /// Runs a body while scripts see the document of a frame, also one of another origin.
    package func inFrame<Result>(_ css: String, _ body: () async throws -> Result) async throws -> Result {
        let frame = try await find(css)
        try await perform("/frame", ["id": [PageElement.key: .string(frame.identifier)]])
        let result = try await body()
        try await perform("/frame/parent")
        return result
    }

    /// Presses keys one after the other, where the focus is.
    package func press(_ keys: PageKey...) async throws {
        let actions = keys.flatMap { key -> [JSON] in
            [["type": "keyDown", "value": .string(key.rawValue)], ["type": "keyUp", "value": .string(key.rawValue)]]
        }
        try await perform("/actions", ["actions": [["type": "key", "id": "keyboard", "actions": .array(actions)]]])
    }

    private func summary() async throws -> String { try await evaluate("return location.href + ' ' + document.body?.innerText.slice(0, 1500)") }
}
