import Foundation
import ToolSupport

/// A message of the server to the page: a server-sent event, as the living standard of HTML defines them.
struct PageMessage: Sendable {
    /// The bytes, as they go over the connection.
    let bytes: [UInt8]

    /// - Parameters:
    ///   - name: the event's name.
    ///   - body: an object that JSON can express.
    init(_ name: String, _ body: some Encodable) {
        // Every body of these types has a form in JSON, which is one line.
        let json = (try? jsonLine(body)) ?? "{}"
        bytes = Array("event: \(name)\ndata: \(json)\n\n".utf8)
    }

    struct Hello: Encodable {
        var version = ToolVersion.text
        var container: String?
        var time = Date()
    }

    struct Beat: Encodable {}

    struct Account: Encodable, Equatable {
        /// The account that is signed in; nil if nobody is.
        var name: String?
        var words: String
        /// The identifiers of its containers.
        var containers: [String]
    }

    struct Removed: Encodable {
        var id: String
    }

    struct TableState: Encodable {
        var container: String
        var pane: String
        var whole: PageTable?
        var change: PageTable.Change?
    }

    /// All that was transferred lately.
    struct Traffic: Encodable {
        struct Span: Encodable {
            var name: String
            var seconds: Int
            var end: Int
            /// For each column the bytes and files up, and the bytes and files down.
            var columns: [[Int64]]
        }

        var container: String
        var spans: [Span]

        init(container: String, _ history: TransferHistory, at now: Date) {
            var history = history
            history.advance(to: now)
            self.container = container
            spans = history.spans.map { span in
                Span(
                    name: span.name, seconds: span.seconds, end: span.start,
                    columns: span.columns.map { [$0.up.bytes, Int64($0.up.files), $0.down.bytes, Int64($0.down.files)] })
            }
        }
    }

    /// What has been transferred now.
    struct Moved: Encodable {
        var container: String
        var time: Int
        var up: [Int64]
        var down: [Int64]
    }
}

extension Pane {
    /// The pane's name on the page.
    var name: String { "\(self)" }
}
