internal import StoreRecords
internal import UbiquityContainers

/// The surroundings of a step of an exchange: the store with its content, and the peer and epoch for which it runs.
struct ExchangeScope {
    let context: ExchangeContext
    let peer: PeerIdentifier
    let epoch: Int64

    init(_ context: ExchangeContext, _ peer: PeerIdentifier, _ epoch: Int64) { (self.context, self.peer, self.epoch) = (context, peer, epoch) }

    init(_ context: ExchangeContext, _ state: StoreState) { self.init(context, state.peer, state.epoch) }

    var file: StoreFile { context.file }
    var files: any FileLayer { context.files }
    var layout: ContentLayout { context.layout }
    var baselines: BaselineExchange { BaselineExchange(scope: self) }
}
