public import UbiquityContainers

/// Decides about saves that were made while nobody was signed in, when somebody signs in.
public enum JoiningPolicy: Sendable {
    /// Join the saves into the account's store, which publishes them.
    case merge
    /// Keep the saves on this device, where they show again when nobody is signed in.
    case keepSeparate
    /// Ask the app each time that there are saves to join; until it answers, the store stays with the local file.
    ///
    /// If another account or none is signed in before the answer, the question is void: its task is cancelled, and its
    /// answer has no effect.
    case ask(@Sendable (AccountName) async -> Answer)

    /// An answer.
    public enum Answer: Sendable {
        /// Act as ``JoiningPolicy/merge`` does.
        case merge
        /// Act as ``JoiningPolicy/keepSeparate`` does.
        case keepSeparate
    }
}
