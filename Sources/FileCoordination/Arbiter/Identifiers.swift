// Plain values name every client and presenter, so the arbiter does not depend on sharing a process with them.

/// A process that coordinates files.
package struct ClientID: Hashable, Sendable, CustomStringConvertible {
    /// A number that the client chooses at random when it starts, and keeps while it lives, even if the broker changes.
    package let number: UInt64

    package init(_ number: UInt64) {
        self.number = number
    }

    package var description: String { "client \(number)" }
}

/// A claim, numbered by the client that makes it.
package struct ClaimID: Hashable, Sendable, CustomStringConvertible {
    package let client: ClientID
    package let number: UInt64

    package init(_ client: ClientID, _ number: UInt64) {
        self.client = client
        self.number = number
    }

    package var description: String { "claim \(client.number).\(number)" }
}

/// A presenter, numbered by the client that registers it.
package struct PresenterID: Hashable, Sendable, CustomStringConvertible {
    package let client: ClientID
    package let number: UInt64

    package init(_ client: ClientID, _ number: UInt64) {
        self.client = client
        self.number = number
    }

    package var description: String { "presenter \(client.number).\(number)" }
}

/// A message to a presenter, numbered by the arbiter.
package struct MessageID: Hashable, Sendable, CustomStringConvertible {
    package let number: UInt64

    package init(_ number: UInt64) {
        self.number = number
    }

    package var description: String { "message \(number)" }
}

/// The purpose of a claim: claims with one purpose never block each other.
package enum Purpose: Hashable, Sendable, CustomStringConvertible {
    /// The default purpose of a coordinator, which no other coordinator shares.
    case coordinator(ClientID, UInt64)
    /// The purpose of every coordinator made for this presenter.
    case presenter(PresenterID)
    /// A purpose that the app named; coordinators of several processes can share it.
    case named(String)
    /// The purpose of the claim that represents a client's delegation; it blocks every other client.
    case delegation(ClientID)

    package var description: String {
        switch self {
        case .coordinator(let client, let number): "coordinator.\(client.number).\(number)"
        case .presenter(let id): "presenter.\(id.client.number).\(id.number)"
        case .named(let name): name
        case .delegation(let client): "delegation.\(client.number)"
        }
    }
}
