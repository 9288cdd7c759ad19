/// Decides which requests to a server on loopback are answered: those of this user's own browser.
///
/// The server listens on loopback only, which every user and every page in a browser of this machine can reach. So a request must
///
/// - name the server in `Host` by its name of this run, `<128 bits>.localhost`: browsers find such names on this machine (RFC 6761, 6.3), and a
///   cookie of it goes to no other server of this machine, as one of 127.0.0.1 goes to all its ports;
/// - carry the cookie, which is given for the ticket in the address that the command prints or opens;
/// - come from the page itself, or be a person's visit: `Origin` and `Sec-Fetch-Site` tell that of every present browser.
package struct LoopbackAccess: Sendable {
    /// What a request says of itself.
    package struct Question: Sendable {
        package var method = "GET"
        package var host: String?
        package var origin: String?
        /// The values of `Sec-Fetch-Site`, `Sec-Fetch-Mode` and `Sec-Fetch-Dest`.
        package var fetchSite: String?
        package var fetchMode: String?
        package var fetchDestination: String?
        /// The value of the server's cookie.
        package var cookie: String?
        /// The ticket in the address.
        package var ticket: String?
        /// Whether it has the header that only the page's script sends.
        package var isMarked = false

        package init(host: String?, cookie: String?) { (self.host, self.cookie) = (host, cookie) }
    }

    package enum Answer: Equatable, Sendable {
        case allow
        /// The ticket is right: the cookie is set, and the browser goes to the page.
        case enter
        /// The reason, for a person.
        case refuse(String)
    }

    /// The server's port.
    package let port: Int
    /// In the address that the command prints.
    package let ticket: String
    /// The cookie's value.
    package let secret: String
    /// The first part of the server's name.
    package let label: String
    private let allowsActions: Bool

    /// The name of the cookie.
    package static let cookieName = "ubiquity"

    /// The server's name and port, as in `Host`.
    package var host: String { "\(label).localhost:\(port)" }

    /// Makes the access to a new server.
    ///
    /// - Parameters:
    ///   - port: the port that the server has.
    ///   - allowsActions: whether it takes actions.
    package init(port: Int, allowsActions: Bool) {
        self.init(port: port, label: String(Self.random().prefix(32)), ticket: Self.random(), secret: Self.random(), allowsActions: allowsActions)
    }

    package init(port: Int, label: String, ticket: String, secret: String, allowsActions: Bool) {
        (self.port, self.label, self.ticket, self.secret, self.allowsActions) = (port, label, ticket, secret, allowsActions)
    }

    /// The address with the ticket.
    package var address: String { "http://\(host)/?ticket=\(ticket)" }

    /// Answers a request.
    package func answer(_ question: Question) -> Answer {
        guard let host = question.host, Self.isEqual(host, self.host) else {
            return .refuse("The address is not the one of this run. \(Self.remedy)")
        }
        if let origin = question.origin, origin != "http://\(host)" { return .refuse("This page is read by no other page.") }
        // A link or a bookmark may lead here, and nothing that another page shows or reads.
        let isVisit = question.method == "GET" && question.fetchMode == "navigate" && question.fetchDestination == "document"
        if let site = question.fetchSite, !["same-origin", "none"].contains(site), !isVisit { return .refuse("This page is part of no other page.") }
        if question.method == "GET", let ticket = question.ticket {
            return Self.isEqual(ticket, self.ticket) ? .enter : .refuse("The address is not the one of this run. \(Self.remedy)")
        }
        guard let cookie = question.cookie, Self.isEqual(cookie, secret) else { return .refuse("This page belongs to one user. \(Self.remedy)") }
        guard question.method != "GET" else { return .allow }
        guard allowsActions else { return .refuse("The page only shows. Start it with --allow-actions.") }
        guard question.method == "POST", question.origin != nil, question.isMarked else { return .refuse("Only the page itself asks for this.") }
        return .allow
    }

    private static let remedy = "Open it with: ubwatch serve --open"

    /// 256 bits that nobody guesses, in hexadecimal digits.
    private static func random() -> String {
        var random = SystemRandomNumberGenerator()
        return (0..<4).map { _ in
            let digits = String(random.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Compares without telling by the time how much is right.
    private static func isEqual(_ first: String, _ second: String) -> Bool {
        let (first, second) = (Array(first.utf8), Array(second.utf8))
        guard first.count == second.count else { return false }
        return zip(first, second).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
